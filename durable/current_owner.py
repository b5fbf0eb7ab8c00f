"""The person that the current thread works for, for limits that count per person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_owner: ContextVar[str] = ContextVar("acting_for", default="")


@contextmanager
def acting_for(owner: str) -> Iterator[None]:
    """Work for that person until the end of the block, also in threads that copy the context; "" is nobody."""
    token = _owner.set(owner)
    try:
        yield
    finally:
        _owner.reset(token)


def current_owner() -> str:
    """Return whom the current thread works for, or "" for nobody in particular."""
    return _owner.get()
