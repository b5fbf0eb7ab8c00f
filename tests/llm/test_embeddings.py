"""Embeddings of a server that is slow, away, or sends too much."""

from __future__ import annotations

import asyncio
import json

import pytest
from pytest_django import Settings

from llm import limits
from llm.embeddings import embed
from llm.errors import LLMError, ModelUnavailable
from tests.embedding_server import SILENCE, embedding_server, vector_of


def use(settings: Settings, url: str) -> None:
    endpoint = {"name": "vectors", "url": url, "key": "k", "models": ["tiny"]}
    settings.COPILOT_ENDPOINTS = json.dumps([endpoint])


def test_server_that_says_nothing_ends_in_time(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EMBEDDING_SECONDS", 0.3)
    with embedding_server() as server:
        use(settings, server.url)
        with pytest.raises(ModelUnavailable, match="took too long"):
            asyncio.run(embed({"model": "vectors/tiny", "input": SILENCE}))


def test_server_that_is_away_is_said_to_be(settings: Settings) -> None:
    use(settings, "http://127.0.0.1:9/v1")
    with pytest.raises(ModelUnavailable):
        asyncio.run(embed({"model": "vectors/tiny", "input": "x"}))


def test_answer_that_is_too_large_is_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EMBEDDING_MAX_BYTES", 100)
    with embedding_server() as server:
        use(settings, server.url)
        with pytest.raises(LLMError):
            asyncio.run(embed({"model": "vectors/tiny", "input": "x"}))


def test_vectors_come_with_their_tokens(settings: Settings) -> None:
    with embedding_server() as server:
        use(settings, server.url)
        found = asyncio.run(embed({"model": "vectors/tiny", "input": "abc"}))
    assert found.body["data"][0]["embedding"] == vector_of("abc")
    assert (found.input_tokens, found.model) == (3, "tiny")
