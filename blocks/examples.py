"""Examples of what a block does, as inputs and outputs; used as tests and documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

NOON = datetime(2025, 6, 15, 12, 30, 45, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class ExamplePage:
    """A web server's response in an example."""

    body: str | bytes = ""
    status: int = 200
    media_type: str = "text/html"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class World:
    """The environment of an example; parts that are not set are empty."""

    now: datetime = NOON
    timezone: str = "UTC"
    from_chat: bool = False
    safe_mode: bool = True
    pages: Mapping[str, ExamplePage] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    stored: Mapping[str, Any] = field(default_factory=dict)  # "scope/key": value
    replies: Sequence[Any] = ()  # the model's answers in order: text, tool calls or an error
    hits: Sequence[Any] = ()
    transcripts: Mapping[str, str] = field(default_factory=dict)
    credentials: Sequence[Any] = ()
    decision: Any = None
    child_outputs: Sequence[tuple[str, Any]] = ()
    turn: Any = None
    tools: Sequence[Any] = ()
    tool_results: Mapping[str, Any] = field(default_factory=dict)
    rows: Any = None
    sandbox: Any = None
    mail_error: str = ""
    recorded_outputs: int = 0


EMPTY_WORLD = World()


@dataclass(frozen=True, kw_only=True)
class Example:
    """One run: its outputs in order, and the error it ends with, if any. `error` is part of the message."""

    inputs: Mapping[str, Any]
    outputs: Sequence[tuple[str, Any]] = ()
    error: str = ""
    note: str = ""
    world: World = EMPTY_WORLD
    documented: bool = True  # False if it is too large to print

    @property
    def fails(self) -> bool:
        return bool(self.error)
