"""Embeddings, passed to the model server that has the embedding model."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import Any

from durable import storable
from llm import limits
from llm.endpoints import ModelAddress, locate
from llm.errors import BadModelRequest, LLMError, ModelUnavailable, RateLimited
from llm.failures import TryFailed, error_object
from llm.prices import cost_of
from llm.retry import Policy, read_retry_after
from llm.types import Usage

PATH = "/embeddings"
OUR_FAULT = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
)  # the key of this site, which no caller can change
MEANING = {404: "it has no embeddings, or not this model."}  # of an answer without a message
CHAT_DIALECTS = ("chat", "responses")  # of servers that are known to have the path


class EmbeddingRefused(BadModelRequest):
    """The model server refused the request."""


@dataclass(frozen=True, kw_only=True)
class Embeddings:
    """The server's answer as it came, with what it costs."""

    body: dict[str, Any]
    model: str
    input_tokens: int
    cost: Decimal


async def embed(request: Mapping[str, Any]) -> Embeddings:
    """Send an embedding request to the endpoint of its model, bounded in time and size; raise LLMError."""
    try:
        async with asyncio.timeout(limits.EMBEDDING_SECONDS):
            return await _embed(request)
    except TimeoutError:
        raise ModelUnavailable("The model server took too long. Please try again.") from None


async def _embed(request: Mapping[str, Any]) -> Embeddings:
    from llm.transport import Refused, post_json  # lazy: the client library takes long to load

    at = locate(str(request["model"]))
    if at.endpoint.dialect not in CHAT_DIALECTS:
        raise EmbeddingRefused(f"The model server of {request['model']!r} has no embeddings.")
    body = json.dumps({**request, "model": at.model}, ensure_ascii=False).encode("utf-8", "replace")
    try:
        answer = await post_json(at.endpoint, PATH, body, Policy(), max_bytes=limits.EMBEDDING_MAX_BYTES)
    except Refused as error:
        raise _refusal(error.status, error.body, error.headers) from None
    except TryFailed as error:
        raise ModelUnavailable(error.failure.detail) from None
    return _read(answer, str(request["model"]), at)


def _refusal(status: int, body: bytes, headers: Mapping[str, str]) -> LLMError:
    """Return the error behind an HTTP error answer: the caller's fault, a limit, or the server's own trouble."""
    known = error_object(body) or {}
    said = storable.text(str(known.get("message") or MEANING.get(status) or f"HTTP {status}"), most=500)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        wait = read_retry_after(headers, now=time.time())
        return RateLimited(f"The model server is rate limited: {said}", retry_after=wait or 1.0)
    if status in OUR_FAULT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelUnavailable(f"The model server cannot answer: {said}")
    return EmbeddingRefused(f"The model server refused: {said}")


def _read(answer: bytes, name: str, at: ModelAddress) -> Embeddings:
    try:
        body = storable.nearest_json(storable.loads(answer))
    except ValueError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("data"), list):
        raise LLMError("The model server's answer is not a list of embeddings.")
    reported = body.get("usage")
    usage = reported if isinstance(reported, dict) else {}
    tokens = storable.count(usage.get("prompt_tokens"), most=limits.MODEL_MAX_ANSWER_TOKENS) or 0
    body["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
    spent = Usage(input_tokens=tokens)
    cost = cost_of(at.model, spent, is_local=at.endpoint.is_local, own=dict(at.endpoint.prices))
    return Embeddings(body=body | {"model": name}, model=at.model, input_tokens=tokens, cost=cost)
