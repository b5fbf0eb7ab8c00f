"""What a tool knows about the call it serves, and how it speaks while it works."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from accounts.models import User
from boundary import taint
from durable.stop import StopReason
from tools.errors import Cancelled, NeedLogin
from tools.permissions import Permissions


class CancelSignal(Protocol):
    """Tells a running tool that nobody wants its answer any more."""

    @property
    def reason(self) -> StopReason | None:
        """Why; a call that was lost or handed over goes on elsewhere with the same key."""
        ...

    def is_set(self) -> bool: ...

    def wait(self, seconds: float) -> bool:
        """Sleep at most that long; True when the signal came."""
        ...

    def add_callback(self, callback: Callable[[], None], /) -> Callable[[], None]:
        """Call back once when set, from any thread, at once when it is set already; the answer removes it."""
        ...


@dataclass(frozen=True, kw_only=True)
class WatchedExecution:
    """How far an execution is that a call waits for; the last state of each node that has begun."""

    id: str
    status: str
    nodes: dict[str, str]


class Channel(Protocol):
    """Where a running tool's words go."""

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
    cancelled: CancelSignal
    deadline: float
    channel: Channel
    said: Callable[[], Iterable[str]] = tuple
    outside_sources: taint.Sources = ()  # what the model had read from outside when it made the call

    @property
    def user(self) -> User:
        """The person the call is for; raises NeedLogin when there is none."""
        found = User.objects.filter(pk=self.user_id).first() if self.user_id is not None else None
        if found is None:
            raise NeedLogin
        return found

    def progress(self, fraction: float | None, message: str) -> None:
        """Tell everybody who watches how far the tool is: 0..1, or None when that is not known."""
        share = None if fraction is None else min(1.0, max(0.0, fraction))
        self.preliminary({"type": "progress", "progress": share, "message": message})

    def preliminary(self, output: dict[str, Any]) -> None:
        """Show an output that a later one replaces. Too frequent ones are left out."""
        self.channel.preliminary(output)

    def watched(self, execution: WatchedExecution) -> None:
        """Show how far an execution is; a passing note."""
        self.channel.watched(execution)

    def with_result(self, work: Callable[[], object]) -> None:
        """Run `work` in the very transaction that saves this call's result: both happen, or neither."""
        self.channel.with_result(work)

    def said_by_person(self) -> Iterable[str]:
        """What the person themselves wrote in this conversation."""
        return self.said()

    def read_outside(self, *sources: str) -> None:
        """Say that the result holds what strangers wrote, and where it came from."""
        self.channel.read_outside(sources)

    def waiting(self, job_id: uuid.UUID | None = None) -> AbstractContextManager[None]:
        """While inside, the call only waits, so its turn leaves its place among the user's running turns to others.

        `job_id` names the turn it waits for: when this turn is stopped meanwhile, that one is stopped too.
        """
        return self.channel.waiting(job_id)

    def remaining_seconds(self) -> float:
        """Time left until the tool's cap."""
        return max(0.0, self.deadline - time.monotonic())

    def stop_if_cancelled(self) -> None:
        """Raise Cancelled when the call is no longer wanted. Long tools ask this between pieces of work."""
        if self.cancelled.is_set():
            raise Cancelled
