"""Callbacks that run after a commit and cannot undo it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from django.db import transaction

P = ParamSpec("P")


def after_commit(function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call the function after the surrounding transaction commits; log it if it raises.

    Django's `on_commit(robust=True)` logs the function's name, which a `functools.partial` does not have: the error
    would reach the caller as if the commit had failed.
    """

    def call() -> None:
        function(*args, **kwargs)

    call.__qualname__ = getattr(function, "__qualname__", repr(function))
    transaction.on_commit(call, robust=True)
