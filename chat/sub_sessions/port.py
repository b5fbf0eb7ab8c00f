"""Sub-sessions for tools: the implementation of `tools.sub_sessions.SubSessions`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from chat import turns
from chat.models import Session, Turn
from chat.sessions import Owner
from chat.sub_sessions import callbacks, delegate
from chat.sub_sessions.outcome import NoSuchTask, newest_task, progress_of, report_on, stop_pending
from chat.sub_sessions.wait import wait_for_task
from durable.refusals import Refusal
from durable.stop_signal import StopSignal
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
            "This sub-session was deleted. Go on without it, or ask the user why."
        ) from None


def conversation_of(context: ToolContext) -> Session:
    found = Session.objects.select_related("user").filter(pk=context.session_id).first()
    if found is None:
        raise ToolError("This conversation was deleted.", code="no_conversation")
    return found


def owner_of(session: Session) -> Owner:
    return Owner(user=session.user, visitor_id=None if session.user else session.visitor_id)
