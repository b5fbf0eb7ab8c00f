"""Which job the current thread works on, for the log lines written meanwhile."""

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
    """Log lines carry these ids until the end of the block, also those of threads that copy the context."""
    token = _current.set(MappingProxyType(dict(ids)))
    try:
        yield
    finally:
        _current.reset(token)


def carried(work: Callable[[], None]) -> Callable[[], None]:
    """The same work, for a thread that knows nothing of the job: it takes the ids and the trace along."""
    context = copy_context()
    return lambda: context.run(work)


def current_ids() -> Mapping[str, Any]:
    return _current.get()
