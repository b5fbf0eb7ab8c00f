"""Sub-sessions for the tools: fills in `tools.sub_sessions.SubSessions`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from rest_framework.exceptions import APIException

from chat import turns
from chat.models import Session, Turn
from chat.owners import Owner
from chat.sub_sessions import starting, telling
from chat.sub_sessions.following import wait_for_task
from chat.sub_sessions.outcome import NoSuchTask, course_of, newest_task, report_on
from chat.sub_sessions.pending import stop_pending
from tools.context import CancelSignal, ToolContext
from tools.errors import ToolError
from tools.sub_sessions import Handle, Report, Task, Tell, TooDeep, UnknownSubSession


class ChatSubSessions:
    """Whose sub-session it is, is asked of the rows each time: nothing is remembered between two calls."""

    def start(self, task: Task, context: ToolContext) -> Handle:
        parent = conversation_of(context)
        order = starting.Order(
            key=context.key,
            owner=owner_of(parent),
            prompt=task.prompt,
            system_context=task.system_context,
            parent=parent,
            permissions=context.permissions,
            outside_sources=context.outside_sources,
            continues=task.sub_session_id,
            may_continue=partial(starting.descends_from, parent),
        )
        try:
            turn = starting.start(order)
        except starting.NoSuchSession:
            raise UnknownSubSession from None
        except starting.TooDeep:
            raise TooDeep from None
        except APIException as refused:  # over the budget, or over the in-flight limit
            raise ToolError(str(refused.detail), code=refused.default_code) from None
        return Handle(session_id=turn.session_id, turn_id=turn.pk)

    def find(self, sub_session_id: str, context: ToolContext) -> Handle:
        parent = conversation_of(context)
        try:
            wanted = uuid.UUID(sub_session_id)
        except ValueError:
            raise UnknownSubSession from None
        session = owner_of(parent).sessions().filter(pk=wanted).first()
        if session is None or not starting.descends_from(parent, session):
            raise UnknownSubSession
        task = newest_task(session)
        if task is None:
            raise UnknownSubSession
        return Handle(session_id=session.pk, turn_id=task.pk)

    def is_over(self, handle: Handle) -> bool:
        with gone_is_unknown():
            return course_of(handle.turn_id).is_over

    def wait(self, handle: Handle, *, seconds: float, stop: CancelSignal, tell: Tell) -> None:
        with gone_is_unknown():
            wait_for_task(handle.turn_id, seconds=seconds, stop=stop, tell=tell)

    def report(self, handle: Handle) -> Report:
        with gone_is_unknown():
            return report_on(handle.turn_id)

    def cancel(self, handle: Handle, *, confirm: bool) -> None:
        """Long work first, so that nothing comes back to a session that was stopped."""
        with gone_is_unknown():
            stop_pending(handle.session_id)
            live = course_of(handle.turn_id).live
            if live is not None and confirm:
                turns.cancel(live)
            elif live is not None:
                turns.stop(live)

    def tell_when_over(self, handle: Handle, context: ToolContext) -> None:
        telling.tell_when_over(handle.turn_id, session_id=context.session_id, call_key=context.key)


@contextmanager
def gone_is_unknown() -> Iterator[None]:
    """Somebody deleted the session meanwhile."""
    try:
        yield
    except (NoSuchTask, Turn.DoesNotExist):
        raise UnknownSubSession(
            "This sub-session was deleted. Go on without it, or ask the user why."
        ) from None


def conversation_of(context: ToolContext) -> Session:
    """The conversation that asks."""
    found = Session.objects.select_related("user").filter(pk=context.session_id).first()
    if found is None:
        raise ToolError("This conversation was deleted.", code="no_conversation")
    return found


def owner_of(session: Session) -> Owner:
    """The person a session belongs to, with or without an account."""
    return Owner(user=session.user, visitor_id=None if session.user else session.visitor_id)
