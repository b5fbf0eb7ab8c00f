"""The context of the current thread's work: the fields of its log lines, and the user it works for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})
_current: ContextVar[Mapping[str, Any]] = ContextVar("log_context", default=NOTHING)
_owner: ContextVar[str] = ContextVar("acting_for", default="")


@contextmanager
def working_on(ids: Mapping[str, Any]) -> Iterator[None]:
    """Add these ids to log lines inside the block, also in threads that copy the context."""
    token = _current.set(MappingProxyType(dict(ids)))
    try:
        yield
    finally:
        _current.reset(token)


def carried(work: Callable[[], None]) -> Callable[[], None]:
    """Return the function bound to the current ids and trace, for another thread."""
    context = copy_context()
    return lambda: context.run(work)


def current_ids() -> Mapping[str, Any]:
    return _current.get()


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
