"""The port through which tools use sub-sessions; chat installs its implementation."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from durable.stop_signal import StopSignal
from tools import limits
from tools.context import ToolContext
from tools.errors import ToolError

Status: TypeAlias = Literal["running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class SubSessionTask:
    """A task for a sub-session; `sub_session_id` continues an existing one."""

    prompt: str
    system_context: str = ""
    sub_session_id: str = ""


@dataclass(frozen=True, kw_only=True)
class TaskHandle:
    """One task of one sub-session."""

    session_id: uuid.UUID
    turn_id: uuid.UUID

    @property
    def link(self) -> str:
        """The page where a person can open it."""
        return f"/c/{self.session_id}"


@dataclass(frozen=True, kw_only=True)
class TaskReport:
    """The status of a task and its results so far; `doing` says what a running task does now."""

    handle: TaskHandle
    status: Status
    title: str = ""
    text: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    doing: str = ""
    seconds: float = 0.0
    outside_sources: tuple[str, ...] = ()  # what it has read from outside


Tell: TypeAlias = Callable[[str], None]


class SubSessions(Protocol):
    """Sessions for the tasks of a conversation. `start` and `find` check their owner.

    A sub-session may be deleted at any time; then every method raises UnknownSubSession.
    """

    def start(self, task: SubSessionTask, context: ToolContext) -> TaskHandle:
        """Commit the task. Once per `context.key`: the same call again finds the same session and turn.

        Raises ToolError when it is nested too deeply, over a limit, or in a sub-session of another conversation.
        """
        ...

    def find(self, sub_session_id: str, context: ToolContext) -> TaskHandle:
        """Return the newest task of a sub-session of this conversation; raises ToolError when there is none."""
        ...

    def is_over(self, handle: TaskHandle) -> bool:
        """Return whether the task has ended; cheaper than a report."""
        ...

    def wait(self, handle: TaskHandle, *, seconds: float, stop: StopSignal, tell: Tell) -> None:
        """Return when the task has ended, the time is up, or `stop` was set; `tell` is called with its progress."""
        ...

    def report(self, handle: TaskHandle) -> TaskReport:
        """Return the task's current status."""
        ...

    def cancel(self, handle: TaskHandle, *, confirm: bool) -> None:
        """Stop everything that runs in the sub-session; with `confirm`, wait until it has stopped."""
        ...

    def tell_when_over(self, handle: TaskHandle, context: ToolContext) -> None:
        """Continue the conversation once when the task ends. Called in the transaction of the result."""
        ...


class _Installed:
    """The implementation that chat installs when Django starts."""

    sub_sessions: SubSessions | None = None


def install(sub_sessions: SubSessions) -> None:
    """Use this implementation; chat calls this when Django starts."""
    _Installed.sub_sessions = sub_sessions


def current() -> SubSessions:
    if _Installed.sub_sessions is None:
        raise ToolError("Sub-sessions are not available here.", code="not_available")
    return _Installed.sub_sessions


class UnknownSubSession(ToolError):
    """There is no such sub-session in this conversation."""

    code = "unknown_sub_session"
    next_step = "Use the sub_session_id that run_sub_session returned."


class SubSessionsNestedTooDeep(ToolError):
    """Sub-sessions are nested too deeply."""

    code = "too_deep"
    next_step = "Do this part yourself."

    def __init__(self) -> None:
        super().__init__(
            f"Sub-sessions can be nested {limits.MAX_SESSION_DEPTH} levels deep, and this is the last level."
        )
