"""What a person can do with turns: send, cancel, change what is queued, ask again."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.ledger import OverBudget, check_budget
from chat import news
from chat.errors import NothingToRetry, NotQueued, SessionBusy, TooManyTurns
from chat.models import Message, Session, Turn
from durable import bell, jobs, limits
from durable.poke import poke
from durable.waiting import wait_for


@dataclass(frozen=True, kw_only=True)
class Input:
    """What a person sends; the last three are for those who ask in a person's name."""

    text: str
    client_id: str | None = None
    while_running: str = Turn.Mode.QUEUE
    attachments: Sequence[str] = ()
    context: dict[str, Any] | None = None
    note: str = ""
    permissions: dict[str, Any] | None = None
    execution_id: uuid.UUID | None = None


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """The turn an input became; `created` is False when the same input had come before."""

    turn: Turn
    created: bool


def submit(session: Session, given: Input) -> Submitted:
    """Commit message and turn, then poke. Once per client_id: the same id again answers the same turn."""
    try:
        turn, running = accept(session, given)
    except (IntegrityError, OverBudget, SessionBusy, TooManyTurns):
        if found := by_client_id(session, given.client_id):
            return Submitted(turn=found, created=False)
        raise
    start(turn)
    if given.while_running == Turn.Mode.INTERRUPT and running is not None:
        stop(running)
    return Submitted(turn=turn, created=True)


def accept(session: Session, given: Input) -> tuple[Turn, Turn | None]:
    """Write the input down, unless something speaks against it; answers also the turn that runs already.

    That the client id is new is left to the database, which refuses a second row: a message comes twice rarely.
    """
    check_budget(session.user)
    with transaction.atomic():
        lock(session)
        ahead = turns_in_flight(session)
        here = [turn for turn in ahead if turn.session_id == session.pk]
        if given.while_running == Turn.Mode.REJECT and here:
            raise SessionBusy
        if len(ahead) >= settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER:
            raise TooManyTurns
        return write(session, given), next((turn for turn in here if turn.status in Turn.ACTIVE), None)


def by_client_id(session: Session, client_id: str | None) -> Turn | None:
    return session.turns.filter(client_id=client_id).first() if client_id else None


def lock(session: Session) -> None:
    """Make inputs of one session wait for each other; it goes to the top of the list."""
    if not Session.objects.filter(pk=session.pk).update(active_at=timezone.now()):
        raise Session.DoesNotExist


def turns_in_flight(session: Session) -> list[Turn]:
    """What the owner has running and waiting, in all sessions."""
    live = Turn.of_owner(session).exclude(status__in=Turn.TERMINAL)
    return list(live.only("pk", "session_id", "status"))


def write(session: Session, given: Input) -> Turn:
    interrupting = given.while_running == Turn.Mode.INTERRUPT
    turn = Turn.objects.create(
        session=session,
        user_id=session.user_id,
        status=Turn.QUEUED,
        mode=given.while_running,
        priority=1 if interrupting else 0,
        client_id=given.client_id or None,
        note=given.note,
        permissions=given.permissions,
        execution_id=given.execution_id,
        poked_at=timezone.now(),
    )
    Message.objects.create(
        session=session,
        turn=turn,
        role=Message.Role.USER,
        text=given.text,
        attachments=list(given.attachments),
        context=given.context,
    )
    return turn


def start(turn: Turn) -> None:
    """Send the first poke and tell the devices; both may fail, the row is what counts."""
    poke(Turn, turn.pk)
    news.turn_changed(turn)


# --- cancel ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CancelAnswer:
    """Whether the turn was stopped, and why not."""

    cancelled: bool
    reason: str = ""


def cancel(turn: Turn) -> CancelAnswer:
    """Stop a turn in any state and wait until it has stopped. Truthful: a turn that had ended stays as it ended."""
    if not stop(turn):
        return already(turn)
    ended = wait_for(turn.pk, lambda: end_of(turn), seconds=limits.CANCEL_CONFIRM_SECONDS)
    if ended is None:
        jobs.force_cancel(Turn, turn.pk)  # its worker does not answer; the fence keeps it from writing later
        ended = end_of(turn)
    if ended == Turn.CANCELLED:
        return CancelAnswer(cancelled=True)
    return already(turn)


def stop(turn: Turn) -> bool:
    """Ask for the stop without waiting for it; False when the turn had ended."""
    asked = jobs.request_cancel(Turn, turn.pk)
    if asked:
        bell.ring(turn.pk)
    return asked


def already(turn: Turn) -> CancelAnswer:
    turn.refresh_from_db(fields=["status"])
    cancelled = turn.status == Turn.CANCELLED
    return CancelAnswer(cancelled=cancelled, reason="already_cancelled" if cancelled else "no_active_turn")


def end_of(turn: Turn) -> str | None:
    status = Turn.objects.values_list("status", flat=True).get(pk=turn.pk)
    return status if status in Turn.TERMINAL else None


def cancel_session(session: Session) -> CancelAnswer:
    """Stop the session's running turn; where none runs, everything that is queued."""
    active = session.turns.filter(status__in=Turn.ACTIVE).first()
    if active is not None:
        return cancel(active)
    queued = list(session.turns.filter(status=Turn.QUEUED))
    if not queued:
        return CancelAnswer(cancelled=False, reason="no_active_turn")
    answers = [cancel(turn) for turn in queued]
    return next((answer for answer in answers if answer.cancelled), answers[0])


# --- queued inputs --------------------------------------------------------------------------------


def edit_queued(turn: Turn, *, text: str | None = None, mode: str | None = None) -> Turn:
    """Change an input before it runs."""
    with transaction.atomic():
        changed = Turn.objects.filter(pk=turn.pk, status=Turn.QUEUED)
        values = {} if mode is None else {"mode": mode, "priority": 1 if mode == Turn.Mode.INTERRUPT else 0}
        if not changed.update(poked_at=timezone.now(), **values):
            raise NotQueued
        if text is not None:
            Message.objects.filter(turn=turn, role=Message.Role.USER).update(text=text)
    turn.refresh_from_db()
    start(turn)
    if mode == Turn.Mode.INTERRUPT:
        running = turn.session.turns.filter(status__in=Turn.ACTIVE).first()
        if running is not None:
            stop(running)
    return turn


def remove_queued(turn: Turn) -> None:
    """Take an input out of the queue; it never ran, so nothing of it stays."""
    with transaction.atomic():
        deleted, _ = Turn.objects.filter(pk=turn.pk, status=Turn.QUEUED).delete()
        if not deleted:
            raise NotQueued
    news.session_changed(turn.session)


# --- ask again ------------------------------------------------------------------------------------


def regenerate(
    session: Session,
    *,
    message_id: uuid.UUID | None = None,
    client_id: str | None = None,
    text: str | None = None,
) -> Submitted:
    """Answer an input anew: its turn and what came after leave the history, a new turn takes the same input.

    With `text` the input is changed as well.
    """
    if found := by_client_id(session, client_id):
        return Submitted(turn=found, created=False)
    check_budget(session.user)
    with transaction.atomic():
        lock(session)
        if session.turns.exclude(status__in=Turn.TERMINAL).exists():
            raise SessionBusy
        turn = turn_to_redo(session, message_id)
        given = turn.messages.filter(role=Message.Role.USER, steered_step=None).first()
        if given is None:
            raise NothingToRetry
        session.turns.filter(queued_at__gte=turn.queued_at, superseded_at=None).update(
            superseded_at=timezone.now()
        )
        again = Input(
            text=given.text if text is None else text,
            client_id=client_id,
            attachments=given.attachments,
            context=given.context,
            note=turn.note,
            permissions=turn.permissions,
        )
        if len(turns_in_flight(session)) >= settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER:
            raise TooManyTurns
        fresh = write(session, again)
    start(fresh)
    return Submitted(turn=fresh, created=True)


def turn_to_redo(session: Session, message_id: uuid.UUID | None) -> Turn:
    turns = session.turns.filter(superseded_at=None, kind=Turn.Kind.MESSAGE).exclude(
        end_reason=Turn.EndReason.STEERED
    )
    if message_id is not None:
        turns = turns.filter(messages__pk=message_id)
    turn = turns.order_by("-queued_at").first()
    if turn is None:
        raise NothingToRetry
    return turn


# --- for operators --------------------------------------------------------------------------------


def requeue(turn: Turn) -> Turn:
    """Have a turn done: an ended one's input goes in again as a new turn, a stuck one goes to another worker.

    The worker that held it, should it still live, is fenced by the next claim.
    """
    if not turn.is_terminal:
        Turn.objects.filter(pk=turn.pk, status=Turn.RUNNING).update(lease_until=None)
        poke(Turn, turn.pk)
        return turn
    given = turn.messages.filter(role=Message.Role.USER, steered_step=None).first()
    if given is None:
        raise NothingToRetry
    again = Input(
        text=given.text,
        attachments=given.attachments,
        context=given.context,
        note=turn.note,
        permissions=turn.permissions,
    )
    with transaction.atomic():
        lock(turn.session)
        fresh = write(turn.session, again)
    start(fresh)
    return fresh
