"""Sub-sessions as tools know them: what can be asked for, and where chat puts what does it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from durable import limits
from tools.context import CancelSignal, ToolContext
from tools.errors import ToolError

Status: TypeAlias = Literal["running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a sub-session is to do; with `sub_session_id` in one that is there already."""

    prompt: str
    system_context: str = ""
    sub_session_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Handle:
    """One task of one sub-session."""

    session_id: uuid.UUID
    turn_id: uuid.UUID

    @property
    def link(self) -> str:
        """Where a person opens it."""
        return f"/c/{self.session_id}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a task stands, and what has come of it so far. `doing` says what is under way while it runs."""

    handle: Handle
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
    """Sessions for the tasks of a conversation. Whose they are is checked by `start` and `find`.

    A sub-session may be deleted at any time; then every method raises UnknownSubSession.
    """

    def start(self, task: Task, context: ToolContext) -> Handle:
        """Commit the task. Once per `context.key`: the same call again finds the same session and turn.

        Raises ToolError when it is too deep, over a limit, or in a sub-session that is not of this conversation.
        """
        ...

    def find(self, sub_session_id: str, context: ToolContext) -> Handle:
        """The newest task of a sub-session of this conversation; raises ToolError when it is not one."""
        ...

    def is_over(self, handle: Handle) -> bool:
        """Whether nothing more will come of the task; cheaper than a report."""
        ...

    def wait(self, handle: Handle, *, seconds: float, stop: CancelSignal, tell: Tell) -> None:
        """Return when the task is over, the time is, or `stop` was set; `tell` hears what it does meanwhile."""
        ...

    def report(self, handle: Handle) -> Report:
        """How it stands now."""
        ...

    def cancel(self, handle: Handle, *, confirm: bool) -> None:
        """Stop everything that runs in the sub-session; with `confirm`, wait until it has stopped."""
        ...

    def tell_when_over(self, handle: Handle, context: ToolContext) -> None:
        """Have the conversation called back, once, when the task is over. Inside the transaction of the result."""
        ...


class _Filled:
    """Filled once, when Django is set up."""

    def __init__(self) -> None:
        self.sub_sessions: SubSessions | None = None


_filled = _Filled()


def fill(sub_sessions: SubSessions) -> None:
    """For chat, when Django is set up."""
    _filled.sub_sessions = sub_sessions


def current() -> SubSessions:
    if _filled.sub_sessions is None:
        raise ToolError("There are no sub-sessions here: no chat is installed.", code="not_available")
    return _filled.sub_sessions


class UnknownSubSession(ToolError):
    """There is no such sub-session of this conversation. Use the sub_session_id that run_sub_session answered."""

    code = "unknown_sub_session"


class TooDeep(ToolError):
    """Sub-sessions are nested too deeply. Do this part yourself."""

    code = "too_deep"

    def __init__(self) -> None:
        super().__init__(
            f"Sub-sessions can be nested {limits.MAX_SESSION_DEPTH} deep, and this is the last level. "
            "Do this part yourself."
        )
