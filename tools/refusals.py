"""Refusals of the use cases below, as the model hears them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rest_framework.exceptions import APIException

from tools.errors import ToolError


@contextmanager
def as_tool_errors() -> Iterator[None]:
    """Whatever is refused inside becomes a ToolError with the same words and code."""
    try:
        yield
    except APIException as error:
        raise ToolError(words_of(error), code=error.default_code) from error


def words_of(error: APIException) -> str:
    """The sentence of a refusal, with what to do about it where that is said."""
    detail = error.detail
    text = str(detail) if isinstance(detail, str) else " ".join(sentences(detail))
    hint = getattr(error, "hint", "")
    return f"{text} {hint}".strip()


def sentences(detail: Any) -> Iterator[str]:
    if isinstance(detail, Mapping):
        for value in detail.values():
            yield from sentences(value)
    elif isinstance(detail, list | tuple):
        for value in detail:
            yield from sentences(value)
    else:
        yield str(detail)
