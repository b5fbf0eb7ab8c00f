"""The context of a tool call: who and what it is for, and how it reports progress."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from accounts.models import User
from boundary import taint
from durable.stop_signal import StopSignal
from tools.errors import NeedLogin, ToolCancelled
from tools.permissions import Permissions


@dataclass(frozen=True, kw_only=True)
class WatchedExecution:
    """The progress of an execution that a call waits for: the last state of each node that has started."""

    id: str
    status: str
    nodes: dict[str, str]


class Channel(Protocol):
    """Takes the reports of a running tool."""

    def preliminary(self, output: dict[str, Any]) -> None: ...

    def watched(self, execution: WatchedExecution) -> None: ...

    def with_result(self, work: Callable[[], object]) -> None: ...

    def waiting(self, job_id: uuid.UUID | None) -> AbstractContextManager[None]: ...

    def read_outside(self, sources: Iterable[str]) -> None: ...


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """One call of one step of one turn; `key` is the idempotency key of its effect."""

    user_id: int | None
    session_id: uuid.UUID
    turn_id: uuid.UUID
    step: int
    call_id: str
    key: str
    permissions: Permissions
    cancelled: StopSignal
    deadline: float
    channel: Channel
    said: Callable[[], Iterable[str]] = tuple
    outside_sources: taint.Sources = ()  # of third-party content the model had read before the call

    @property
    def user(self) -> User:
        """The user of the session; raises NeedLogin for visitors."""
        found = User.objects.filter(pk=self.user_id).first() if self.user_id is not None else None
        if found is None:
            raise NeedLogin
        return found

    def progress(self, fraction: float | None, message: str) -> None:
        """Show progress to watching clients: 0..1, or None if unknown."""
        share = None if fraction is None else min(1.0, max(0.0, fraction))
        self.preliminary({"type": "progress", "progress": share, "message": message})

    def preliminary(self, output: dict[str, Any]) -> None:
        """Show an output that a later one replaces. Too frequent ones are skipped."""
        self.channel.preliminary(output)

    def watched(self, execution: WatchedExecution) -> None:
        """Show the progress of an execution."""
        self.channel.watched(execution)

    def with_result(self, work: Callable[[], object]) -> None:
        """Run `work` in the transaction that saves this call's result."""
        self.channel.with_result(work)

    def said_by_person(self) -> Iterable[str]:
        """Return what the user wrote in this conversation."""
        return self.said()

    def read_outside(self, *sources: str) -> None:
        """Declare that the result contains third-party content from these sources."""
        self.channel.read_outside(sources)

    def waiting(self, job_id: uuid.UUID | None = None) -> AbstractContextManager[None]:
        """Give up the turn's slot among the user's running turns while inside, because the call only waits.

        `job_id` names the turn that it waits for: stopping this turn stops that one too.
        """
        return self.channel.waiting(job_id)

    def remaining_seconds(self) -> float:
        """Return the time left until the tool's time limit."""
        return max(0.0, self.deadline - time.monotonic())

    def stop_if_cancelled(self) -> None:
        """Raise ToolCancelled if the call was stopped. Long tools call this between pieces of work."""
        if self.cancelled.is_set():
            raise ToolCancelled
