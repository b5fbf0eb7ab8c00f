"""An error of the API in plain words, for clients that show its text as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from chat.api.view import answer_to

T = TypeVar("T")
UNKNOWN = "Something went wrong. Try again."


class RequestRefused(Exception):
    """A request could not be done, in words for the person who made it."""


def plain_words(body: Any) -> str:
    """Return the message, the problem of each field, and what to do next."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return UNKNOWN
    if error.get("fields"):
        return " ".join(f"{name}: {' '.join(texts)}" for name, texts in error["fields"].items())
    return " ".join(str(error[part]) for part in ("message", "hint") if error.get(part)) or UNKNOWN


def in_words(work: Callable[[], T]) -> T:
    """Do something outside of a view; whatever it raises goes through the API's handler and comes out as Refused."""
    try:
        return work()
    except RequestRefused:
        raise
    except Exception as error:
        raise RequestRefused(plain_words(answer_to(error))) from error
