"""Errors of the API as plain text, for clients that show it unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from chat.api.view import answer_to

T = TypeVar("T")
UNKNOWN = "Something went wrong. Try again."


class RequestRefused(Exception):
    """A request was refused; the text is for the user."""


def plain_words(body: Any) -> str:
    """Return the message, the problem of each field, and what to do next."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return UNKNOWN
    if error.get("fields"):
        return " ".join(f"{name}: {' '.join(texts)}" for name, texts in error["fields"].items())
    return " ".join(str(error[part]) for part in ("message", "hint") if error.get(part)) or UNKNOWN


def in_words(work: Callable[[], T]) -> T:
    """Run the block outside of a view; the API's exception handler turns its errors into Refused."""
    try:
        return work()
    except RequestRefused:
        raise
    except Exception as error:
        raise RequestRefused(plain_words(answer_to(error))) from error
