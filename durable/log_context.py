"""The job the current thread works on, for its log lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})
_current: ContextVar[Mapping[str, Any]] = ContextVar("log_context", default=NOTHING)


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
