"""Completions of operations that outside services send through the Redis stream `chat:completions`."""

from __future__ import annotations

import json
from typing import Any

from durable import limits as durable_limits
from durable.stream_consumer import Consumer, Fields
from tools import limits
from tools.operations.completion import complete

STREAM = "chat:completions"  # public names that other programs use, so they have no prefix
GROUP = "chat_consumers"


class UnreadableCompletion(ValueError):
    """The entry is not a completion: it needs operation_id or task_id, and success."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.__doc__)


def consumer(*, claim_idle_seconds: float = durable_limits.CONSUMER_CLAIM_SECONDS) -> Consumer:
    return Consumer(stream=STREAM, group=GROUP, handle=handle, claim_idle_seconds=claim_idle_seconds)


def handle(fields: Fields) -> None:
    """Complete the operation that an entry names. Once, however often the entry is read."""
    said = read(fields)
    complete(
        operation_id=said.get("operation_id"),
        task_id=said.get("task_id"),
        success=truth(said.get("success")),
        result=said.get("result"),
        error=str(said.get("error") or ""),
        by="stream",
    )


def read(fields: Fields) -> dict[str, Any]:
    """Read one JSON object in the field `data`, or the same names as fields of the entry, as JSON or plain text."""
    if "data" in fields:
        said = parse(fields["data"])
        if not isinstance(said, dict):
            raise UnreadableCompletion("The field `data` is not a JSON object.")
    else:
        said = dict(fields) | {
            name: lenient(fields[name]) for name in ("success", "result") if name in fields
        }
    if not (said.get("operation_id") or said.get("task_id")):
        raise UnreadableCompletion
    return said


def parse(text: str) -> Any:
    if len(text.encode()) > limits.MAX_COMPLETION_BYTES:
        raise UnreadableCompletion("The entry is too large.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableCompletion(f"The entry is not JSON: {error}") from None


def lenient(text: str) -> Any:
    """Return the parsed JSON, the text if it is not JSON, or None if it is empty."""
    try:
        return parse(text) if text else None
    except UnreadableCompletion:
        return text


def truth(value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower(), value)
    if value in (0, 1):
        return bool(value)
    raise UnreadableCompletion("The field `success` must be true or false.")
