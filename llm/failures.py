"""Classification of error responses: an HTTP status, headers and an error body become a Failure."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from durable import storable
from llm.carry import CARRY
from llm.endpoint import Endpoint
from llm.errors import BadModelRequest, ContextTooLong, LLMError, ModelRefused
from llm.retry import Failure, Kind, read_retry_after

MAX_DETAIL_CHARACTERS = 500
MAX_STATUS = 999
PASSING_STATUSES = {408, 409, 425}
ENDPOINT_STATUSES = {401, 402, 403, 404}  # key, credit, rights, models
WORD = re.compile(r"[^\s\"'`,;:()\[\]{}]{6,}")
OPAQUE = re.compile(r"[\w+/=-]{6,}")  # also the beginning of a signature that was cut
TOO_LONG = re.compile(
    r"context[ _-]?(length|size|window)|maximum[ a-z]* context|too many (input )?tokens|"
    r"(prompt|input|request|conversation) (is )?too (long|large)|exceeds? .{0,40}(context|token limit)|"
    r"reduce the length",
    re.IGNORECASE,
)
TOO_LONG_CODES = {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
FILTER_CODES = {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient credit|billing|exceeded your current quota", re.IGNORECASE
)
HINTS = {
    401: "The model server refused the key. An operator should check OPENAI_API_KEY.",
    402: "The model provider says that the account has no credit left. An operator should top it up.",
    403: "The key may not use this model. An operator should check OPENAI_API_KEY and COPILOT_MODEL.",
    404: "The model server does not know this model. An operator should check COPILOT_MODEL and OPENAI_BASE_URL.",
    405: "The model server does not know this address. An operator should check OPENAI_BASE_URL.",
    413: "The request is too large for the model server.",
}


class TryFailed(Exception):
    """One try at an answer failed; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


def from_status(status: int, body: bytes | str, headers: Mapping[str, str]) -> Failure:
    """Return the failure behind an HTTP error answer."""
    error = error_object(body)
    if error is None:
        error = {"message": body.decode("utf-8", "replace") if isinstance(body, bytes) else body}
    return _classify(status, error, retry_after=read_retry_after(headers, now=time.time()))


def from_error_object(
    error: Mapping[str, Any] | str, statuses: Mapping[str, int] = MappingProxyType({})
) -> Failure:
    """Return the failure behind an error inside a 200 answer or inside a stream.

    Some servers put a status into `code`; others name a type that stands for one in `statuses`.
    """
    fields: Mapping[str, Any] = {"message": error} if isinstance(error, str) else error
    status = storable.count(fields.get("code", fields.get("status")), most=MAX_STATUS) or 0
    status = status or statuses.get(str(fields.get("code"))) or statuses.get(str(fields.get("type"))) or 0
    return _classify(status, fields, retry_after=None)


def error_object(body: bytes | str) -> Mapping[str, Any] | None:
    """Return the error of an OpenAI-style body, also of the shapes that other servers use."""
    try:
        data = storable.loads(body)
    except ValueError:
        return None
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return None
    error = data.get("error") or data.get("detail") or data.get("message")
    if isinstance(error, dict):
        return error
    return {"message": error if isinstance(error, str) else json.dumps(data)} if error else None


def _classify(status: int, error: Mapping[str, Any], *, retry_after: float | None) -> Failure:
    message = storable.text(str(error.get("message") or error), most=MAX_DETAIL_CHARACTERS)
    codes = {str(error.get(field, "")).lower() for field in ("code", "type")}
    detail = f"HTTP {status}: {message}" if status else message
    if (
        codes & TOO_LONG_CODES
        or (status != 429 and TOO_LONG.search(message))
        or "Request too large" in message
    ):
        return _final(ContextTooLong(detail=detail))
    if codes & FILTER_CODES:
        return _final(ModelRefused(detail=detail))
    if status in (402, 429) and any(NO_CREDIT.search(text) for text in (message, *codes)):
        return _final(BadModelRequest(HINTS[402], detail=detail), is_of_endpoint=True)
    if status == 400 and "credit balance is too low" in message:  # in these words by Anthropic
        return _final(BadModelRequest(HINTS[402], detail=detail), is_of_endpoint=True)
    if status == 429 or codes & {"rate_limit_exceeded", "rate_limit_error", "too_many_requests"}:
        return Failure(kind=Kind.RATE_LIMITED, detail=detail, retry_after=retry_after)
    if status >= 500 or status in PASSING_STATUSES:
        return Failure(kind=Kind.UNAVAILABLE, detail=detail)
    if 400 <= status < 500:
        refused = BadModelRequest(HINTS.get(status, ""), detail=detail)
        return _final(refused, is_of_endpoint=status in ENDPOINT_STATUSES)
    if codes & {"invalid_request_error", "authentication_error", "invalid_api_key", "not_found_error"}:
        return _final(BadModelRequest(detail=detail))
    return Failure(kind=Kind.NONSENSE, detail=f"The server sent an error instead of an answer: {detail}")


def _final(error: LLMError, *, is_of_endpoint: bool = False) -> Failure:
    return Failure(kind=Kind.FINAL, detail=error.detail, error=error, is_of_endpoint=is_of_endpoint)


def scrub(failure: Failure, *secrets: str) -> Failure:
    """Return the failure and its error without secrets: servers may quote the key they refuse."""
    error = failure.error
    if error is not None:
        error.detail = redact(error.detail, *secrets)
        error.user_message = redact(error.user_message, *secrets)
        error.args = tuple(redact(str(text), *secrets) for text in error.args)
    return replace(failure, detail=redact(failure.detail, *secrets))


def naming_settings(error: LLMError, endpoint: Endpoint) -> LLMError:
    """Make the error name the settings that this endpoint comes from, and return it."""

    def named(text: str) -> str:
        return text.replace("OPENAI_API_KEY", endpoint.key_setting).replace(
            "OPENAI_BASE_URL", endpoint.url_setting
        )

    error.user_message = named(error.user_message)
    error.args = tuple(named(str(text)) for text in error.args)
    return error


def without_quotes(failure: Failure, messages: Sequence[Mapping[str, Any]]) -> Failure:
    """Return the failure without text of the conversation: servers quote what they refuse, and `detail` is logged."""
    said = json.dumps(
        [_words_of(message) for message in messages if message.get("role") != "system"], ensure_ascii=False
    )
    detail = WORD.sub(lambda found: "…" if found[0] in said else found[0], failure.detail)
    carried = "\n".join(
        text for message in messages if (carry := message.get(CARRY)) for text in carry.strings()
    )
    detail = OPAQUE.sub(lambda found: "…" if found[0] in carried else found[0], detail)
    if failure.error is not None:
        failure.error.args = tuple(str(text).replace(failure.detail, detail) for text in failure.error.args)
        failure.error.detail = detail
    return replace(failure, detail=detail)


def _words_of(message: Mapping[str, Any]) -> list[Any]:
    """Return the text of a message, without pictures."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return [*texts, message.get("tool_calls")]


def redact(text: str, *secrets: str) -> str:
    """Return the text without the given secrets and without anything that looks like a key."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[REDACTED]")
    return re.sub(r"\bsk-[\w-]{6,}[\w*-]*|\bBearer\s+\S+", "[REDACTED]", text)
