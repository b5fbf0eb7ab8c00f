"""What a person can do with turns: send, cancel, change what is queued, ask again."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import IntegrityError
from django.db.models import Q, QuerySet

from accounts.ledger import OverBudget, check_budget
from boundary import taint
from chat import news, outside_content
from chat.errors import NothingToRetry, NotQueued, SessionBusy, TooManyTurns
from chat.models import Message, Session, Turn
from durable import cancelling, guard, limits
from durable.cancelling import CancelAnswer
from durable.poke import poke
from durable.retrying import in_transaction


@dataclass(frozen=True, kw_only=True)
class Input:
    """What a person sends; the last four are for those who ask in a person's name."""

    text: str
    client_id: str | None = None
    while_running: str = Turn.Mode.QUEUE
    attachments: Sequence[str] = ()
    context: dict[str, Any] | None = None
    note: str = ""
    permissions: dict[str, Any] | None = None
    execution_id: uuid.UUID | None = None
    outside_sources: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """The turn an input became; `created` is False when the same input had come before."""

    turn: Turn
    created: bool


def submit(session: Session, given: Input) -> Submitted:
    """Commit message and turn, then poke. Once per client_id: the same id again answers the same turn."""
    try:
        turn = accept(session, given)
    except (IntegrityError, OverBudget, SessionBusy, TooManyTurns):
        if found := by_client_id(session, given.client_id):
            return Submitted(turn=found, created=False)
        raise
    start(turn)
    return Submitted(turn=turn, created=True)


def accept(session: Session, given: Input) -> Turn:
    """Write the input down, unless something speaks against it.

    That the client id is new is left to the database, which refuses a second row: a message comes twice rarely.
    """
    check_budget(session.user)
    return _write_if_room(session, given)


@in_transaction
def _write_if_room(session: Session, given: Input) -> Turn:
    lock(session)
    ahead = sessions_in_flight(session)
    if given.while_running == Turn.Mode.REJECT and session.pk in ahead:
        raise SessionBusy
    if len(ahead) >= settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER:
        raise TooManyTurns
    return write(session, given)


def by_client_id(session: Session, client_id: str | None) -> Turn | None:
    """The turn of that name; where its input was answered anew, the one that counts now."""
    if not client_id:
        return None
    found = session.turns.select_related("replaced_by").filter(client_id=client_id).first()
    return found and (found.replaced_by or found)


def lock(session: Session) -> None:
    """Make inputs of one session wait for each other; it goes to the top of the list."""
    if not Session.objects.filter(pk=session.pk).update(active_at=Turn.clock.now()):
        raise Session.DoesNotExist


def sessions_in_flight(session: Session) -> list[uuid.UUID]:
    """The session of each turn that the owner has running or waiting."""
    live = Turn.of_owner(session).filter(status__in=Turn.LIVE)
    return list(live.values_list("session_id", flat=True))


def active_turn(session: Session) -> Turn | None:
    return session.turns.filter(status__in=Turn.ACTIVE).first()


def write(session: Session, given: Input) -> Turn:
    """Write message and turn; what came from outside with it marks the session, which is locked by now."""
    sources = taint.merge(given.outside_sources, outside_content.of_page(given.context))
    if sources:
        outside_content.mark(session.pk, sources)
    turn = Turn.objects.create(
        session=session,
        user_id=session.user_id,
        status=Turn.QUEUED,
        **mode_values(session, given.while_running),
        client_id=given.client_id or None,
        note=given.note,
        permissions=given.permissions,
        execution_id=given.execution_id,
        outside_sources=list(sources),
        poked_at=Turn.clock.now(),
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


def mode_values(session: Session, mode: str) -> dict[str, Any]:
    """What an input's mode means for its turn: an interrupting one goes first, and what runs now is to stop."""
    if mode != Turn.Mode.INTERRUPT:
        return {"mode": mode, "priority": 0, "interrupts": None}
    return {"mode": mode, "priority": 1, "interrupts": active_turn(session)}


def start(turn: Turn) -> None:
    """Send the first poke, tell the devices, stop what it interrupts; all may fail, the row is what counts."""
    poke(Turn, turn.pk)
    news.turn_changed(turn)
    if turn.interrupts_id is not None:
        cancelling.stop(Turn, turn.interrupts_id)


def stop_interrupted(sender: Any, queues: Collection[str], **kwargs: Any) -> None:
    """Stop what a queued input interrupts and nobody has asked to stop: who accepted it may have died before."""
    if Turn.queue not in queues:
        return
    waiting = Turn.live().filter(
        status=Turn.QUEUED, interrupts__status__in=Turn.ACTIVE, interrupts__cancel_requested_at=None
    )
    ids = list(waiting.values_list("interrupts_id", flat=True)[: limits.SWEEP_BATCH])
    guard.run_each(ids, lambda turn_id: cancelling.stop(Turn, turn_id), what="Stopping an interrupted turn")


# --- cancel ---------------------------------------------------------------------------------------


def cancel(turn: Turn) -> CancelAnswer:
    """Stop a turn in any state and wait until it has stopped. Truthful: a turn that had ended stays as it ended."""
    answer = cancelling.cancel(
        Turn, turn.pk, seconds=limits.CANCEL_CONFIRM_SECONDS, stop=lambda _: stop(turn)
    )
    if answer.reason == "already_ended":
        return CancelAnswer(cancelled=False, reason="no_active_turn")
    return answer


def stop(turn: Turn) -> bool:
    """Ask for the stop without waiting for it; False when the turn had ended."""
    return cancelling.stop(Turn, turn.pk)


def cancel_session(session: Session) -> CancelAnswer:
    """Stop the session's running turn; where none runs, everything that is queued."""
    active = active_turn(session)
    if active is not None:
        return cancel(active)
    queued = list(session.turns.filter(status__in=Turn.LIVE).filter(status=Turn.QUEUED))
    if not queued:
        return CancelAnswer(cancelled=False, reason="no_active_turn")
    answers = [cancel(turn) for turn in queued]
    return next((answer for answer in answers if answer.cancelled), answers[0])


# --- queued inputs --------------------------------------------------------------------------------


def edit_queued(turn: Turn, *, text: str | None = None, mode: str | None = None) -> Turn:
    """Change an input before it runs."""
    _change_queued(turn, text, mode)
    turn.refresh_from_db()
    start(turn)
    return turn


@in_transaction
def _change_queued(turn: Turn, text: str | None, mode: str | None) -> None:
    values = {} if mode is None else mode_values(turn.session, mode)
    if not lock_queued(turn).update(poked_at=Turn.clock.now(), **values):
        raise NotQueued
    if text is not None:
        Message.objects.filter(turn=turn, role=Message.Role.USER).update(text=text)


def lock_queued(turn: Turn) -> QuerySet[Turn]:
    """The turn while it is queued, its session locked, so that no claim comes between. Inside a transaction."""
    Turn.lock_before(turn.pk)
    return Turn.objects.filter(pk=turn.pk, status=Turn.QUEUED)


def position_in_line(turn_id: uuid.UUID) -> int:
    """Which of its owner's queued turns this is, in the order they begin: 1 is the next; 0 when it is not queued."""
    turn = Turn.objects.select_related("session").filter(pk=turn_id, status=Turn.QUEUED).first()
    if turn is None:
        return 0
    goes_first = Q(priority__gt=turn.priority) | Q(priority=turn.priority, queued_at__lt=turn.queued_at)
    live = Turn.of_owner(turn.session).filter(status__in=Turn.LIVE)
    return 1 + live.filter(goes_first, status=Turn.QUEUED).count()


def remove_queued(turn: Turn) -> None:
    """Take an input out of the queue; it never ran, so nothing of it stays."""
    _delete_queued(turn)
    news.session_changed(turn.session)


@in_transaction
def _delete_queued(turn: Turn) -> None:
    """Lock the turn before its messages go, in the order in which a claim takes them."""
    if not lock_queued(turn).select_for_update().values_list("pk", flat=True).first():
        raise NotQueued
    Turn.objects.filter(pk=turn.pk).delete()


# --- ask again ------------------------------------------------------------------------------------


def regenerate(
    session: Session,
    *,
    message_id: uuid.UUID | None = None,
    client_id: str | None = None,
    edited: Input | None = None,
) -> Submitted:
    """Answer an input anew: its turn and what came after leave the history, a new turn takes the same input.

    `edited` changes the input; files and page stay where it has none.
    """
    if found := by_client_id(session, client_id):
        return Submitted(turn=found, created=False)
    check_budget(session.user)
    fresh = _write_again(session, message_id, client_id, edited)
    start(fresh)
    return Submitted(turn=fresh, created=True)


@in_transaction
def _write_again(
    session: Session, message_id: uuid.UUID | None, client_id: str | None, edited: Input | None
) -> Turn:
    lock(session)
    if session.turns.filter(status__in=Turn.LIVE).exists():
        raise SessionBusy
    turn = turn_to_redo(session, message_id)
    given = turn.messages.filter(role=Message.Role.USER, steered_step=None).first()
    if given is None:
        raise NothingToRetry
    session.turns.filter(queued_at__gte=turn.queued_at, superseded_at=None).update(
        superseded_at=Turn.clock.now()
    )
    outside_content.reckon(session)
    again = Input(
        text=given.text if edited is None else edited.text,
        client_id=client_id,
        attachments=(edited and edited.attachments) or given.attachments,
        context=(edited and edited.context) or given.context,
        note=turn.note,
        permissions=turn.permissions,
        outside_sources=tuple(turn.outside_sources) if session.depth else (),
    )
    if len(sessions_in_flight(session)) >= settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER:
        raise TooManyTurns
    fresh = write(session, again)
    session.turns.filter(Q(pk=turn.pk) | Q(replaced_by=turn)).update(replaced_by=fresh)
    return fresh


def turn_to_redo(session: Session, message_id: uuid.UUID | None) -> Turn:
    turns = session.turns.filter(superseded_at=None, kind=Turn.Kind.MESSAGE).exclude(
        end_reason=Turn.EndReason.STEERED
    )
    if message_id is not None:
        turns = turns.filter(Q(messages__pk=message_id) | Q(replaces__messages__pk=message_id))
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
    fresh = _write_locked(turn.session, again)
    start(fresh)
    return fresh


@in_transaction
def _write_locked(session: Session, given: Input) -> Turn:
    lock(session)
    return write(session, given)
