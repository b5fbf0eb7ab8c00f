"""Where spans begin and end, for the tracer that was set up; nothing at all when none was.

A span has a name, a kind and attributes that are ids, counts and names of ours: never what people wrote.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Attribute = str | int | float | bool | tuple[str, ...]
Attributes = Mapping[str, Attribute]
Kind = Literal["internal", "server", "client", "consumer"]
NO_ATTRIBUTES: Attributes = {}


class Span(Protocol):
    """A piece of work while it is under way."""

    def set(self, attributes: Attributes) -> None:
        """What became known on the way."""

    def rename(self, name: str) -> None:
        """A better name than there was at the beginning."""

    def fail(self, kind: str) -> None:
        """It went wrong; `kind` is a word of ours or the name of an exception, never its text."""

    def drop(self) -> None:
        """Do not send it: somebody else tells of the same."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One claim of one job, as far as a trace tells of it."""

    job: str
    job_id: uuid.UUID
    number: int
    cause: str
    traceparent: str  # of whoever asked for the job
    joins: bool  # part of that trace; else a trace of its own, with a link to it
    attributes: Attributes
    lost_from: datetime | None = None  # the attempt before died without a word: from when
    lost_until: datetime | None = None  # until when it may have lived


class Tracer(Protocol):
    """Makes spans and sends them somewhere."""

    def span(self, name: str, attributes: Attributes, kind: Kind) -> AbstractContextManager[Span]: ...

    def request(
        self, name: str, attributes: Attributes, traceparent: str
    ) -> AbstractContextManager[Span]: ...

    def attempt(self, attempt: Attempt) -> AbstractContextManager[Span]: ...

    def annotate(self, attributes: Attributes) -> None: ...

    def current(self) -> str: ...

    def close(self) -> None: ...


class NoSpan:
    """What code gets while nobody traces: costs a call, keeps nothing."""

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
    """From here on spans go to this tracer; None: nowhere. Said once, when a process begins."""
    global _tracer  # noqa: PLW0603 looked at in the innermost loops
    _tracer = tracer


def is_on() -> bool:
    return _tracer is not None


def span(
    name: str, attributes: Attributes = NO_ATTRIBUTES, *, kind: Kind = "internal"
) -> AbstractContextManager[Span]:
    """A piece of the work that is under way on this thread."""
    return NOTHING if _tracer is None else _tracer.span(name, attributes, kind)


def request(name: str, attributes: Attributes, traceparent: str) -> AbstractContextManager[Span]:
    """A request from outside, in the trace its sender named, if it named one."""
    return NOTHING if _tracer is None else _tracer.request(name, attributes, traceparent)


def attempt(describe: Callable[[], Attempt]) -> AbstractContextManager[Span]:
    """An attempt at a job, in the trace the job was asked for in, whichever process and whenever that was."""
    return NOTHING if _tracer is None else _tracer.attempt(describe())


def current() -> str:
    """The place in the current trace, as W3C's `traceparent` writes it; empty when there is none."""
    return "" if _tracer is None else _tracer.current()


def current_trace_id() -> str:
    return current()[3:35]


def annotate(attributes: Attributes) -> None:
    """More about the span that is under way on this thread."""
    if _tracer is not None:
        _tracer.annotate(attributes)


def close() -> None:
    """The process ends: send what is there, as far as that is possible in a moment."""
    if _tracer is not None:
        _tracer.close()
