"""The user on whose behalf the current thread works, for per-user limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_owner: ContextVar[str] = ContextVar("acting_for", default="")


@contextmanager
def acting_for(owner: str) -> Iterator[None]:
    """Work on behalf of an owner inside the block, also in threads that copy the context; "" is nobody."""
    token = _owner.set(owner)
    try:
        yield
    finally:
        _owner.reset(token)


def current_owner() -> str:
    """Return the owner the current thread works for, or ""."""
    return _owner.get()
