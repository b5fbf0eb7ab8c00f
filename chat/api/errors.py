"""Errors raised outside of a view, with the API's texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework.settings import api_settings


def answer_to(error: Exception) -> Any:
    """Return the body of the API's answer to an error."""
    handle: Callable[..., Any] = api_settings.EXCEPTION_HANDLER  # type: ignore[assignment]
    return handle(error, {}).data
