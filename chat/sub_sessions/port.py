"""Sub-sessions for tools: the implementation of `tools.sub_sessions.SubSessions`."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from chat import limits, protocol, turns
from chat.models import Session, Turn
from chat.sessions import Owner
from chat.sub_sessions import callbacks, delegate
from chat.sub_sessions.outcome import (
    NoSuchTask,
    TaskProgress,
    activity_of,
    newest_task,
    progress_of,
    replayed,
    report_on,
    stop_pending,
)
from durable import event_log, jobs
from durable.errors import Refusal
from durable.runtime import runtime
from durable.stop_signal import StopSignal
from durable.wait import wait_for
from tools import limits as tools_limits
from tools.context import ToolContext
from tools.errors import ToolError
from tools.sub_sessions import (
    SubSessionsNestedTooDeep,
    SubSessionTask,
    TaskHandle,
    TaskReport,
    Tell,
    UnknownSubSession,
)


class ChatSubSessions:
    """Stateless: each call reads from the rows whose sub-session it is."""

    def start(self, task: SubSessionTask, context: ToolContext) -> TaskHandle:
        parent = conversation_of(context)
        request = delegate.TaskRequest(
            key=context.key,
            owner=owner_of(parent),
            prompt=task.prompt,
            system_context=task.system_context,
            parent=parent,
            permissions=context.permissions,
            outside_sources=context.outside_sources,
            continues=task.sub_session_id,
            may_continue=partial(delegate.descends_from, parent),
        )
        try:
            turn = delegate.start(request)
        except delegate.NoSuchSession:
            raise UnknownSubSession from None
        except delegate.SubSessionTooDeep:
            raise SubSessionsNestedTooDeep from None
        except Refusal as error:  # over the budget, or over the in-flight limit
            raise ToolError(error.message, code=error.code) from None
        return TaskHandle(session_id=turn.session_id, turn_id=turn.pk)

    def find(self, sub_session_id: str, context: ToolContext) -> TaskHandle:
        parent = conversation_of(context)
        try:
            wanted = uuid.UUID(sub_session_id)
        except ValueError:
            raise UnknownSubSession from None
        session = owner_of(parent).sessions().filter(pk=wanted).first()
        if session is None or not delegate.descends_from(parent, session):
            raise UnknownSubSession
        task = newest_task(session)
        if task is None:
            raise UnknownSubSession
        return TaskHandle(session_id=session.pk, turn_id=task.pk)

    def is_over(self, handle: TaskHandle) -> bool:
        with deleted_is_unknown():
            return progress_of(handle.turn_id).is_over

    def wait(self, handle: TaskHandle, *, seconds: float, stop: StopSignal, tell: Tell) -> None:
        with deleted_is_unknown():
            wait_for_task(handle.turn_id, seconds=seconds, stop=stop, tell=tell)

    def report(self, handle: TaskHandle) -> TaskReport:
        with deleted_is_unknown():
            return report_on(handle.turn_id)

    def cancel(self, handle: TaskHandle, *, confirm: bool) -> None:
        """Stop long work first, so that nothing comes back to a session that was stopped."""
        with deleted_is_unknown():
            stop_pending(handle.session_id)
            live = progress_of(handle.turn_id).live
            if live is not None and confirm:
                turns.cancel(live)
            elif live is not None:
                turns.stop(live)

    def tell_when_over(self, handle: TaskHandle, context: ToolContext) -> None:
        callbacks.call_back_when_over(handle.turn_id, session_id=context.session_id, call_key=context.key)


@contextmanager
def deleted_is_unknown() -> Iterator[None]:
    """Raise UnknownSubSession if the session was deleted meanwhile."""
    try:
        yield
    except (NoSuchTask, Turn.DoesNotExist):
        raise UnknownSubSession(
            "This sub-session was deleted.", next_step="Go on without it, or ask the user why."
        ) from None


def conversation_of(context: ToolContext) -> Session:
    found = Session.objects.select_related("user").filter(pk=context.session_id).first()
    if found is None:
        raise ToolError("This conversation was deleted.", code="no_conversation")
    return found


def owner_of(session: Session) -> Owner:
    return Owner(user=session.user, visitor_id=None if session.user else session.visitor_id)


def wait_for_task(
    turn_id: uuid.UUID, *, seconds: float, stop: StopSignal, tell: Callable[[str], None]
) -> None:
    """Return when the task is over, the time is up, or `stop` was set. Holds no database connection meanwhile."""
    watch = _Watch(turn_id, tell)
    wait_for(turn_id, watch.check, seconds=seconds, stop=stop, matters=watch.activity.apply)


class _Watch:
    """The check that runs on every announcement that matters, and about every two seconds without one."""

    def __init__(self, turn_id: uuid.UUID, tell: Callable[[str], None]) -> None:
        self.activity = Activity()
        self._turn_id = turn_id
        self._tell = tell
        self._run_after = time.monotonic() + limits.EXTRA_THREAD_SECONDS

    def check(self) -> bool | None:
        progress = progress_of(self._turn_id)
        if progress.is_over:
            return True
        self._run_if_unclaimed(progress.live)
        self._tell(self._activity(progress))
        return None

    def _activity(self, progress: TaskProgress) -> str:
        """Return the last announced activity; before any was announced, what the rows and the log say."""
        live = progress.live
        if live is None or live.status == Turn.QUEUED or not self.activity.text:
            return activity_of(progress, replayed(live or progress.turns[-1]))
        return self.activity.text

    def _run_if_unclaimed(self, live: Turn | None) -> None:
        """Run the turn in this process if no worker has taken it: perhaps all of them wait, as this one does."""
        if live is not None and time.monotonic() >= self._run_after and jobs.left_by(Turn, live.pk):
            runtime().run_on_extra_thread(Turn, live.pk)


class Activity:
    """What a turn is doing, read from its announced events, in words that follow "The sub-session"."""

    def __init__(self) -> None:
        self.text = ""
        self._running: dict[str, str] = {}  # call id -> name of the tool

    def apply(self, payload: str | None) -> bool:
        """Apply an announcement; return True if it changed the activity or may have ended the turn."""
        before, ended = self.text, not payload
        for entry in event_log.parse_news(payload or ""):
            if not protocol.part_of(
                entry.body
            ):  # most events of a long answer are deltas, which change nothing
                ended = ended or protocol.is_end(entry.body)
                self._apply_chunk(json.loads(entry.body))
        return ended or self.text != before

    def _apply_chunk(self, chunk: dict[str, Any]) -> None:
        match chunk["type"]:
            case "start-step" | "reasoning-start" | "finish-step":
                self.text = "thinks"
            case "text-start":
                self.text = "writes its answer"
            case "tool-input-start":
                self.text = f"prepares {chunk['toolName']}"
            case "tool-input-available":
                self._running[chunk["toolCallId"]] = chunk["toolName"]
                self._show_tools()
            case "tool-output-available" if chunk.get("preliminary"):
                self._show_tools(chunk["toolCallId"], chunk["output"])
            case "tool-output-available" | "tool-output-error":
                self._running.pop(chunk["toolCallId"], None)
                self._show_tools()

    def _show_tools(self, call_id: str = "", output: Any = None) -> None:
        if call_id in self._running and isinstance(output, dict) and isinstance(output.get("message"), str):
            message = output["message"][: tools_limits.MAX_BRIEF_CHARACTERS].rstrip(".")
            self.text = f"uses {self._running[call_id]}: {message}"
        elif self._running:
            self.text = f"uses {', '.join(dict.fromkeys(self._running.values()))}"
        else:
            self.text = "thinks"
