"""What a thread is working on: spans for the configured tracer, fields of its log lines, the user it works for.

A span has a name, a kind, and attributes that are ids, counts and our own names, never what people wrote. Without a
tracer spans are no-ops.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, Protocol

Attribute = str | int | float | bool | tuple[str, ...]
Attributes = Mapping[str, Attribute]
Kind = Literal["internal", "server", "client", "consumer"]
NO_ATTRIBUTES: Attributes = {}


class TraceSpan(Protocol):
    """A unit of work in progress."""

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""

    def rename(self, name: str) -> None:
        """Replace the name."""

    def fail(self, kind: str) -> None:
        """Mark it failed; `kind` is our own word or an exception's name, never its text."""

    def drop(self) -> None:
        """Do not export it."""


@dataclass(frozen=True, kw_only=True)
class AttemptSpan:
    """One claim of one job, for tracing."""

    job: str
    job_id: uuid.UUID
    number: int
    cause: str
    traceparent: str  # of the request for the job
    joins: bool  # part of that trace; else a linked trace of its own
    attributes: Attributes
    lost_from: datetime | None = None  # the previous attempt died: its start
    lost_until: datetime | None = None  # and the latest time it may have lived


class Tracer(Protocol):
    """Creates spans and exports them."""

    def span(self, name: str, attributes: Attributes, kind: Kind) -> AbstractContextManager[TraceSpan]: ...

    def request(
        self, name: str, attributes: Attributes, traceparent: str
    ) -> AbstractContextManager[TraceSpan]: ...

    def attempt(self, attempt: AttemptSpan) -> AbstractContextManager[TraceSpan]: ...

    def annotate(self, attributes: Attributes) -> None: ...

    def current(self) -> str: ...

    def close(self) -> None: ...


class NoSpan:
    """The span used while tracing is off."""

    def __enter__(self) -> NoSpan:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def set(self, attributes: Attributes) -> None:
        return None

    def rename(self, name: str) -> None:
        return None

    def fail(self, kind: str) -> None:
        return None

    def drop(self) -> None:
        return None


NOTHING = NoSpan()
_tracer: Tracer | None = None


def use(tracer: Tracer | None) -> None:
    """Send spans to this tracer, or nowhere for None. Called once at process start."""
    global _tracer  # noqa: PLW0603 looked at in the innermost loops
    _tracer = tracer


def span(
    name: str, attributes: Attributes = NO_ATTRIBUTES, *, kind: Kind = "internal"
) -> AbstractContextManager[TraceSpan]:
    """Start a span within the current one of this thread."""
    return NOTHING if _tracer is None else _tracer.span(name, attributes, kind)


def request(name: str, attributes: Attributes, traceparent: str) -> AbstractContextManager[TraceSpan]:
    """Start the span of an incoming request, in the trace its sender named, if any."""
    return NOTHING if _tracer is None else _tracer.request(name, attributes, traceparent)


def attempt(describe: Callable[[], AttemptSpan]) -> AbstractContextManager[TraceSpan]:
    """Start the span of an attempt, in the trace in which the job was requested."""
    return NOTHING if _tracer is None else _tracer.attempt(describe())


def current() -> str:
    """Return the current W3C `traceparent`, or ""."""
    return "" if _tracer is None else _tracer.current()


def current_trace_id() -> str:
    return current()[3:35]


def annotate(attributes: Attributes) -> None:
    """Add attributes to this thread's current span."""
    if _tracer is not None:
        _tracer.annotate(attributes)


def close() -> None:
    """Export pending spans before the process ends, without waiting long."""
    if _tracer is not None:
        _tracer.close()


NO_IDS: Mapping[str, Any] = MappingProxyType({})
_current: ContextVar[Mapping[str, Any]] = ContextVar("log_context", default=NO_IDS)
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
