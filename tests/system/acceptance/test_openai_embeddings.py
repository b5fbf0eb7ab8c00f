"""Embeddings through /v1, from a model server that has them: what a client gets, what it pays, and how it fails."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.embedding_server import NONSENSE, EmbeddingServer, embedding_server, vector_of
from tests.harness import Stack, running_stack
from tests.system.acceptance.test_openai_door import connect

MODEL = "vectors/tiny"
DOLLARS_PER_TOKEN = Decimal(1000) / 1_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture(scope="module")
def stack(short_tmp: Path, server: EmbeddingServer) -> Iterator[Stack]:
    endpoint = {
        "name": "vectors",
        "url": server.url,
        "key": "k",
        "models": ["tiny"],
        "prices": {"tiny": {"input": 1000, "output": 0}},
    }
    env = {"COPILOT_ENDPOINTS": json.dumps([endpoint])}
    with running_stack(short_tmp / "embed", workers=0, webs=1, env=env) as running:
        yield running


def charged(stack: Stack) -> list[Decimal]:
    rows = stack.sql(
        "SELECT amount FROM accounts_ledgerentry WHERE key LIKE 'embeddings:%' ORDER BY created_at, id"
    )
    return [Decimal(str(row[0])) for row in rows]


def lenient(stack: Stack) -> OpenAI:
    """Return a client that decodes base64, as it does by itself; a strict one checks the answer before that."""
    return OpenAI(api_key=stack.client().key, base_url=f"{stack.url()}/v1", max_retries=0)


@pytest.mark.parametrize("encoding", ["float", "base64"])
@pytest.mark.parametrize(
    "given",
    ["one text", ["one", "two", "three"], [1, 2, 3], [[1, 2], [3]]],
    ids=["text", "texts", "tokens", "lists of tokens"],
)
def test_vectors_are_those_of_the_model_server(
    stack: Stack, server: EmbeddingServer, given: Any, encoding: str
) -> None:
    before = len(charged(stack))
    if encoding == "float":
        found = connect(stack).embeddings.create(model=MODEL, input=given, encoding_format="float")
    else:
        found = lenient(stack).embeddings.create(model=MODEL, input=given)
    assert server.requests[-1]["model"] == "tiny"
    assert server.requests[-1]["encoding_format"] == encoding
    items = [given] if given in ("one text", [1, 2, 3]) else given
    assert [item.embedding for item in found.data] == [pytest.approx(vector_of(item)) for item in items]
    assert [item.index for item in found.data] == list(range(len(items)))
    assert found.model == MODEL
    assert found.usage.prompt_tokens == sum(len(item) for item in items)
    assert charged(stack)[before:] == [found.usage.prompt_tokens * DOLLARS_PER_TOKEN]


def test_base64_is_passed_as_it_came_and_dimensions_are_asked_for(
    stack: Stack, server: EmbeddingServer
) -> None:
    http = stack.client().http
    body = {"model": MODEL, "input": "x", "encoding_format": "base64", "dimensions": 3, "user": "u"}
    found = http.post("/v1/embeddings", json=body).json()
    assert isinstance(found["data"][0]["embedding"], str)
    assert server.requests[-1] == body | {"model": "tiny"}
    short = lenient(stack).embeddings.create(model=MODEL, input="x", dimensions=3)
    assert short.data[0].embedding == pytest.approx(vector_of("x", 3))


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("too fast", openai.RateLimitError, "Rate limit reached"),
        ("broken", openai.InternalServerError, "had an error"),
        ("wrong key", openai.InternalServerError, "Incorrect API key"),
        ("bad input", openai.BadRequestError, "maximum context length"),
        ("gone", openai.BadRequestError, "does not exist"),
        (NONSENSE, openai.InternalServerError, "not a list of embeddings"),
    ],
)
def test_errors_of_the_model_server_are_translated_and_cost_nothing(
    stack: Stack, given: str, error: type[openai.APIStatusError], words: str
) -> None:
    before = charged(stack)
    with pytest.raises(error) as refused:
        connect(stack).embeddings.create(model=MODEL, input=given)
    assert words in refused.value.message
    assert set(refused.value.response.json()["error"]) == {"message", "type", "param", "code"}
    if given == "too fast":
        assert refused.value.response.headers["retry-after"] == "7"
    assert charged(stack) == before


def test_repeated_request_is_charged_once_and_the_same_text_later_again(stack: Stack) -> None:
    http = stack.client().http
    before = len(charged(stack))

    def post(text: str, **headers: str) -> None:
        http.post("/v1/embeddings", json={"model": MODEL, "input": text}, headers=headers).raise_for_status()

    key = uuid.uuid4().hex
    for _ in range(3):
        post("by key", **{"Idempotency-Key": key})
    assert len(charged(stack)) == before + 1
    post("another text", **{"Idempotency-Key": key})  # no way to pay once for many texts
    assert len(charged(stack)) == before + 2
    post("retried")
    post("retried", **{"X-Stainless-Retry-Count": "1"})
    assert len(charged(stack)) == before + 3
    post("retried")
    assert len(charged(stack)) == before + 4


def test_budgets_of_the_key_and_of_the_person_end_with_insufficient_quota(stack: Stack) -> None:
    made = stack.client("cay").http.post("/api/keys", json={"name": "poor", "day_limit": "0.005"}).json()
    poor = lenient(stack).with_options(api_key=made["key"])
    poor.embeddings.create(model=MODEL, input="123456")
    with pytest.raises(openai.RateLimitError) as spent:
        poor.embeddings.create(model=MODEL, input="x")
    assert spent.value.code == "insufficient_quota"
    rich = lenient(stack).with_options(api_key=stack.client("cay").key)
    assert rich.embeddings.create(model=MODEL, input="x").data
    with pytest.raises(openai.NotFoundError):
        narrow = stack.client("cay").http.post("/api/keys", json={"name": "n", "allowed_models": ["copilot"]})
        connect(stack).with_options(api_key=narrow.json()["key"]).embeddings.create(model=MODEL, input="x")


@pytest.mark.parametrize(
    "body",
    [
        {"model": MODEL},
        {"model": MODEL, "input": ""},
        {"model": MODEL, "input": []},
        {"model": MODEL, "input": [{}]},
        {"model": MODEL, "input": ["x"] * 2_049},
        {"model": 5, "input": "x"},
    ],
    ids=lambda body: str(body)[:40],
)
def test_input_that_is_no_text_is_refused_before_it_is_sent(
    stack: Stack, server: EmbeddingServer, body: dict[str, Any]
) -> None:
    before = len(server.requests)
    answer = stack.client().http.post("/v1/embeddings", json=body)
    assert answer.status_code == 400, answer.text
    assert len(server.requests) == before
