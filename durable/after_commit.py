"""What happens after a transaction has committed, and cannot undo it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from django.db import transaction

P = ParamSpec("P")


def after_commit(function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call the function once the transaction around this call has committed; if it raises, log that and go on.

    Django's `on_commit(robust=True)` names the function it logs, which a `functools.partial` has no name for: there
    the error would reach the caller as if the commit had failed.
    """

    def call() -> None:
        function(*args, **kwargs)

    call.__qualname__ = getattr(function, "__qualname__", repr(function))
    transaction.on_commit(call, robust=True)
