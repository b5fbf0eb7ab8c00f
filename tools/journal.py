"""The interface between the owner of a turn and the dispatch of its tool calls."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from boundary import taint
from durable.stop_signal import StopSignal
from tools.base import Tool
from tools.context import WatchedExecution
from tools.models import ToolCall
from tools.permissions import Permissions

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class CallScope:
    """The step of the turn that the calls belong to."""

    user_id: int | None
    session_id: uuid.UUID
    turn_id: uuid.UUID
    step: int
    attempt: int
    permissions: Permissions
    cancelled: StopSignal
    outside_sources: taint.Sources = ()  # of third-party content the model has read so far
    said: Callable[[], Iterable[str]] = tuple  # what the user wrote, queried only when needed
    client_tools: Mapping[str, Tool] = field(default_factory=dict)  # by name; they hide tools of the site


@dataclass(frozen=True, kw_only=True)
class FinishedCall:
    """A call with its result. `error_text` is None unless clients should show it as an error."""

    call_id: str
    name: str
    arguments: dict[str, Any] | str
    state: ToolCall.State
    output: dict[str, Any]
    error_text: str | None
    sources: taint.Sources = ()  # of third-party content in the output

    @classmethod
    def of(cls, row: ToolCall, *, call_id: str) -> FinishedCall:
        return cls(
            call_id=call_id,
            name=row.name,
            arguments=row.arguments,
            state=ToolCall.State(row.state),
            output=row.result or {},
            error_text=row.error or None,
        )


class Journal(Protocol):
    """Records tool calls; implemented by the owner of the turn. All methods may be called from any thread."""

    def commit(self, work: Callable[[], T], *, finished: FinishedCall | None = None) -> T:
        """Run `work` in one transaction fenced by the turn's attempt; raises LeaseLost if another worker owns it.

        The work may run again if the database failed. The event of a finished call is sent after the commit.
        """
        ...

    def progress(self, call_id: str, name: str, output: dict[str, Any]) -> None:
        """Show a preliminary output of a running call."""
        ...

    def watched(self, execution: WatchedExecution) -> None:
        """Show the progress of an execution that a call waits for."""
        ...

    def waiting(self, key: str, job_id: uuid.UUID | None) -> AbstractContextManager[None]:
        """Give up the turn's slot while inside, where the call only waits, for that job if one is named."""
        ...
