"""Fork a conversation: copy it up to one of its messages into a new one.

Rows are copied as they ended. Nothing runs, is charged or is announced again; work that is still going on stays with
the conversation that started it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import IntegrityError
from django.db.models import Model

from chat import limits, notifications
from chat.errors import SessionBusy, TooLongToFork
from chat.models import Message, Session, Step, Turn
from chat.sessions import Owner, find
from durable.database import in_transaction
from durable.ids import new_id
from tools.models import TodoList, ToolCall, call_key
from tools.operations.start import STARTED_TYPE

M = TypeVar("M", bound=Model)
GOES_ON_ELSEWHERE = {
    "type": "error",
    "message": "This work was going on when the conversation was forked. Its result appears in the conversation "
    "it was started in.",
}
NOT_CHARGED = {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "reasoning_tokens": 0, "cost": 0}
COPIED = ("title", "titled_by", "permissions", "model", "next_seq", "given_history")


@dataclass(frozen=True, kw_only=True)
class ForkedSession:
    """A new conversation. `draft` is the message it was forked at, if a person wrote that one: it is not sent again."""

    session: Session
    created: bool
    draft: Message | None = None


def fork(source: Session, message: Message, *, session_id: uuid.UUID | None = None) -> ForkedSession:
    """Copy the shown messages up to an answer, or before a person's message. Idempotent per `session_id`.

    Raises SessionBusy if the message belongs to a turn that has not ended, TooLongToFork, and Http404 if the id is
    that of somebody else's session.
    """
    draft = message if message.role == Message.Role.USER else None
    new = session_id or new_id()
    try:
        session = _copy(source, message, new)
    except IntegrityError:
        owner = Owner(user=source.user, visitor_id=source.visitor_id)
        return ForkedSession(session=find(owner, str(new)), created=False, draft=draft)
    notifications.session_changed(session)
    return ForkedSession(session=session, created=True, draft=draft)


@in_transaction
def _copy(source: Session, message: Message, session_id: uuid.UUID) -> Session:
    rows = _messages_until(source, message)
    old_turns = list(Turn.objects.filter(pk__in={row.turn_id for row in rows}).order_by("queued_at", "id"))
    if len(old_turns) > limits.MAX_FORKED_TURNS:
        raise TooLongToFork
    if not all(turn.is_terminal for turn in old_turns):
        raise SessionBusy
    session = _session_copy(source, rows, session_id)
    session.save(force_insert=True)
    ids = {turn.pk: new_id() for turn in old_turns}
    fields: dict[str, Any] = {
        "session_id": session.pk,
        "branch": None,
        "replaced_by_id": None,
        "superseded_at": None,
    }
    fields |= NOT_CHARGED | {"api_key_id": None, "request_key": None, "execution_id": None}
    fields |= {"tell_session_id": None, "tell_call": "", "interrupts_id": None}
    copies = [
        clone(
            turn,
            id=ids[turn.pk],
            answer_id=new_id(),
            absorbed_by_id=turn.absorbed_by_id and ids.get(turn.absorbed_by_id),
            **fields,
        )
        for turn in old_turns
    ]
    answers = {turn.pk: copy.answer_id for turn, copy in zip(old_turns, copies, strict=True)}
    insert(copies, old_turns, "queued_at")
    _copy_messages(rows, session, ids, answers)
    _copy_steps(old_turns, ids)
    _copy_calls(old_turns, session, ids)
    _copy_todos(source, session)
    return session


def _messages_until(source: Session, message: Message) -> list[Message]:
    """Return the shown messages of whole turns: a person's message and its answer come together or not at all."""
    shown = source.messages.filter(Message.is_in_history()).order_by("seq")
    if message.role == Message.Role.USER:
        return [row for row in shown.filter(seq__lt=message.seq) if row.turn_id != message.turn_id]
    return list(shown.filter(seq__lte=message.seq))


def _session_copy(source: Session, rows: Sequence[Message], session_id: uuid.UUID) -> Session:
    session = Session(id=session_id, user_id=source.user_id, visitor_id=source.visitor_id, forked_from=source)
    for name in COPIED:
        setattr(session, name, getattr(source, name))
    session.outside_sources = source.outside_sources
    if rows and (rows[-1].seq or 0) >= source.summary_until:
        session.summary, session.summary_until = source.summary, source.summary_until
    return session


def _copy_messages(
    rows: Sequence[Message], session: Session, ids: dict[uuid.UUID, uuid.UUID], answers: dict[Any, uuid.UUID]
) -> None:
    copies = []
    for row in rows:
        pk = answers[row.turn_id] if row.role == Message.Role.ASSISTANT else new_id()
        turn_id = ids[row.turn_id] if row.turn_id else None
        copies.append(clone(row, id=pk, session_id=session.pk, turn_id=turn_id))
    insert(copies, rows, "created_at")


def _copy_steps(old_turns: Sequence[Turn], ids: dict[uuid.UUID, uuid.UUID]) -> None:
    steps = Step.objects.filter(turn__in=old_turns).order_by("turn", "number")
    copies = [
        clone(step, id=None, turn_id=ids[step.turn_id], input_tokens=0, output_tokens=0, cost=0)
        for step in steps
    ]
    Step.objects.bulk_create(copies, batch_size=limits.COPY_BATCH)


def _copy_calls(old_turns: Sequence[Turn], session: Session, ids: dict[uuid.UUID, uuid.UUID]) -> None:
    calls = ToolCall.objects.filter(turn_id__in=list(ids))
    copies = [
        clone(
            call,
            id=new_id(),
            key=call_key(ids[call.turn_id], call.step, call.call_id),
            turn_id=ids[call.turn_id],
            session_id=session.pk,
            result=GOES_ON_ELSEWHERE if _goes_on(call) else call.result,
        )
        for call in calls
    ]
    ToolCall.objects.bulk_create(copies, batch_size=limits.COPY_BATCH)


def _goes_on(call: ToolCall) -> bool:
    return isinstance(call.result, dict) and call.result.get("type") == STARTED_TYPE


def _copy_todos(source: Session, session: Session) -> None:
    for todos in TodoList.objects.filter(pk=source.pk):
        clone(todos, **{TodoList._meta.pk.attname: session.pk}).save(force_insert=True)


def insert(copies: Sequence[M], originals: Sequence[M], time: str) -> None:
    """Insert copies with the time of their originals, which inserting would set to now."""
    manager = type(copies[0])._default_manager if copies else None
    if manager is None:
        return
    manager.bulk_create(copies, batch_size=limits.COPY_BATCH)
    for copy, original in zip(copies, originals, strict=True):
        setattr(copy, time, getattr(original, time))
    manager.bulk_update(copies, [time], batch_size=limits.COPY_BATCH)


def clone(row: M, **changes: Any) -> M:
    """Return an unsaved copy of a row with some columns changed."""
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    return type(row)(**(values | changes))
