"""Actions on turns: submit, cancel, change while queued, regenerate, requeue."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from accounts.budgets import check_budget
from accounts.errors import OverBudget
from boundary import taint
from chat import admission, branches, limits, model_choice, notifications, outside_content
from chat.errors import NothingToRetry, NotQueued, SessionBusy, TooManyTurns
from chat.models import Message, Session, Turn
from chat.turn_options import ClientRequest, prepare_session
from durable import cancellation, database, event_log, plain_sql
from durable import limits as durable_limits
from durable.cancellation import CancelAnswer
from durable.database import in_transaction
from durable.ids import new_id
from durable.models import EventPage, Job
from durable.publisher import poke
from llm.endpoint_rows import refresh_if_old
from tools.models import Operation, ToolCall
from webhooks.deliveries import forget_delivered


@dataclass(frozen=True, kw_only=True)
class Input:
    """A message to answer; the last four fields are set for tasks of other sessions and agents."""

    text: str
    client_id: str | None = None
    while_running: str = Turn.Mode.QUEUE
    attachments: Sequence[str] = ()
    context: dict[str, Any] | None = None
    note: str = ""
    permissions: dict[str, Any] | None = None
    execution_id: uuid.UUID | None = None
    outside_sources: tuple[str, ...] = ()
    model: str = ""  # picked for this message alone
    is_continuation: bool = False  # nothing new was said: the model goes on from the results it asked for
    request: ClientRequest | None = None  # of a client of the API that is not ours


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """The turn of an input; `created` is False if the same client_id was sent before."""

    turn: Turn
    created: bool


def submit(session: Session, given: Input) -> Submitted:
    """Commit message and turn, then poke. Idempotent per client_id: the same id again returns the same turn."""
    try:
        turn = accept(session, given)
    except (IntegrityError, OverBudget, SessionBusy, TooManyTurns):
        if found := by_client_id(session, given.client_id):
            return Submitted(turn=found, created=False)
        raise
    start(turn)
    return Submitted(turn=turn, created=True)


def accept(session: Session, given: Input) -> Turn:
    """Write message and turn; raise OverBudget, SessionBusy, TooManyTurns or NoModelForYou.

    A repeated client_id is left to the database's constraint, since it is rare.
    """
    check_budget(session.user, as_read=True)
    refresh_if_old()
    return _write_if_room(session, given)


@in_transaction
def _write_if_room(session: Session, given: Input) -> Turn:
    opened = lock(session)
    if given.while_running == Turn.Mode.REJECT and session.pk in sessions_in_flight(session):
        raise SessionBusy
    if opened.live_of_owner >= settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER:
        raise TooManyTurns
    if given.request is not None:
        prepare_session(session, given.request)
    return write(session, given, seq=opened.seq)


def by_client_id(session: Session, client_id: str | None) -> Turn | None:
    """Return the turn with this client_id, or the turn of its siblings that is shown now."""
    if not client_id:
        return None
    found = session.turns.select_related("replaced_by").filter(client_id=client_id).first()
    return found and (branches.shown_sibling(found) or found.replaced_by or found)


def lock(session: Session) -> admission.OpenedSession:
    """Lock the session's row, so that its inputs wait for each other; it moves to the top of the list."""
    opened = admission.open_for_input(session)
    if opened is None:
        raise Session.DoesNotExist
    session.branch = opened.branch
    return opened


def sessions_in_flight(session: Session) -> list[uuid.UUID]:
    """Return the session of each live turn of the owner."""
    live = admission.turns_of_owner(session).filter(status__in=Turn.LIVE)
    return list(live.values_list("session_id", flat=True))


def active_turn(session: Session) -> Turn | None:
    return session.turns.filter(status__in=Turn.ACTIVE).first()


def current_turn(session: Session) -> Turn | None:
    """Return the running turn, else the queued one that will run next."""
    live = session.turns.filter(status__in=Turn.LIVE).order_by("-priority", "queued_at", "id")
    return live.filter(status__in=Turn.ACTIVE).first() or live.first()


def write(
    session: Session, given: Input, *, seq: int | None = None, turn_id: uuid.UUID | None = None
) -> Turn:
    """Write message and turn, and mark the session with outside content that comes with it. Needs its lock.

    With `seq`, reserved for it and its answer, the message is placed at once; otherwise when its turn starts.
    """
    sources = taint.merge(given.outside_sources, outside_content.of_page(given.context))
    if sources:
        outside_content.mark(session.pk, sources)
    turn = Turn(
        id=turn_id or new_id(),
        session=session,
        user_id=session.user_id,
        branch=session.branch,
        status=Turn.QUEUED,
        **mode_values(session, given.while_running),
        client_id=given.client_id or None,
        note=given.note,
        permissions=given.permissions,
        execution_id=given.execution_id,
        asked_model=model_choice.model_for(session, given.model),
        outside_sources=list(sources),
        poked_at=Now(),
        **request_values(given),
    )
    plain_sql.insert([turn])
    question = Message(
        session=session,
        turn=turn,
        role=Message.Role.USER,
        seq=seq,
        text=given.text,
        attachments=list(given.attachments),
        context=given.context,
    )
    messages = [] if given.is_continuation else [question]
    if seq is not None:
        answer = Message(
            id=turn.answer_id, session=session, turn=turn, role=Message.Role.ASSISTANT, seq=seq + 1
        )
        messages.append(answer)
    if messages:
        plain_sql.insert(messages)
    return turn


def request_values(given: Input) -> dict[str, Any]:
    """Return the columns of a turn that was asked for by a client of the API; none for others."""
    kind = {"kind": Turn.Kind.CONTINUATION} if given.is_continuation else {}
    if given.request is None:
        return kind
    options = given.request.options.as_json()
    key, api_key_id = given.request.key, given.request.api_key_id
    return kind | {"options": options, "request_key": key, "api_key_id": api_key_id}


def mode_values(session: Session, mode: str) -> dict[str, Any]:
    """Return the columns of a mode; an interrupting turn has priority and names the turn to stop.

    It goes before queued turns, so those lose the places their messages may have. Needs the session's lock.
    """
    if mode != Turn.Mode.INTERRUPT:
        return {"mode": mode, "priority": 0, "interrupts": None}
    unplace_queued(session)
    return {"mode": mode, "priority": 1, "interrupts": active_turn(session)}


def unplace_queued(session: Session) -> None:
    """Take the places of queued turns' messages back; they get others when their turns start."""
    queued = Message.objects.filter(session=session, turn__status=Turn.QUEUED, seq__isnull=False)
    queued.filter(role=Message.Role.ASSISTANT).delete()
    queued.update(seq=None)


def start(turn: Turn) -> None:
    """Poke, notify the devices, stop the interrupted turn. Any of it may fail: the sweep makes up for it."""
    poke(Turn, turn.pk)
    notifications.turn_changed(turn)
    if turn.interrupts_id is not None:
        cancellation.stop(Turn, turn.interrupts_id)


def stop_interrupted(
    sender: Any, queues: Collection[str], idle_models: Collection[type[Job]] = (), **kwargs: Any
) -> None:
    """Stop interrupted turns that were not asked to stop, because the process that accepted the input died."""
    if Turn.queue not in queues or Turn in idle_models:
        return
    waiting = Turn.live().filter(
        status=Turn.QUEUED, interrupts__status__in=Turn.ACTIVE, interrupts__cancel_requested_at=None
    )
    ids = list(waiting.values_list("interrupts_id", flat=True)[: durable_limits.SWEEP_BATCH])
    database.run_each(
        ids, lambda turn_id: cancellation.stop(Turn, turn_id), what="Stopping an interrupted turn"
    )


# --- cancel ---------------------------------------------------------------------------------------


def cancel(turn: Turn) -> CancelAnswer:
    """Stop a turn in any state and wait until it has stopped; a turn that had ended stays as it is."""
    answer = cancellation.cancel(
        Turn, turn.pk, seconds=limits.CANCEL_CONFIRM_SECONDS, stop=lambda _: stop(turn)
    )
    if answer.reason == "already_ended":
        return CancelAnswer(cancelled=False, reason="no_active_turn")
    return answer


def stop(turn: Turn) -> bool:
    """Request the stop without waiting for it; return False if the turn had ended."""
    return cancellation.stop(Turn, turn.pk)


def cancel_session(session: Session) -> CancelAnswer:
    """Stop the session's running turn; if none runs, all queued ones."""
    active = active_turn(session)
    if active is not None:
        return cancel(active)
    queued = list(session.turns.filter(status__in=Turn.LIVE).filter(status=Turn.QUEUED))
    if not queued:
        return CancelAnswer(cancelled=False, reason="no_active_turn")
    answers = [cancel(turn) for turn in queued]
    return next((answer for answer in answers if answer.cancelled), answers[0])


def delete(turn: Turn) -> None:
    """Stop a turn and delete it with its input and answer; a hidden session goes with its last turn."""
    if not turn.is_terminal:
        cancel(turn)
    _delete_turn(turn)
    event_log.nudge(turn.pk)
    notifications.session_changed(turn.session)


@in_transaction
def _delete_turn(turn: Turn) -> None:
    """Delete the rows; locks the session and the turn first, in the order in which a claim locks them."""
    session = list(Session.objects.select_for_update().filter(pk=turn.session_id).values_list("pk"))
    list(Turn.objects.select_for_update().filter(pk=turn.pk).values_list("pk"))
    EventPage.objects.filter(job_id=turn.pk).delete()
    Operation.objects.filter(turn_id=turn.pk).delete()
    ToolCall.objects.filter(turn_id=turn.pk).delete()
    forget_delivered(turn.user_id, turn.pk)
    Turn.objects.filter(pk=turn.pk).delete()
    if session and turn.session.expires_at is not None and not turn.session.turns.exists():
        Session.objects.filter(pk=turn.session_id).delete()


# --- queued inputs --------------------------------------------------------------------------------


def edit_queued(turn: Turn, *, text: str | None = None, mode: str | None = None) -> Turn:
    """Change text or mode of a queued turn; raise NotQueued once it has started."""
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
    """Return the turn as a queryset, empty unless it is queued. Locks its session against a claim meanwhile."""
    admission.lock_session_of(turn.pk)
    return Turn.objects.filter(pk=turn.pk, status=Turn.QUEUED)


def queue_position(turn_id: uuid.UUID) -> int:
    """Return the turn's position among its owner's queued turns, 1 being the next; 0 if it is not queued."""
    turn = Turn.objects.select_related("session").filter(pk=turn_id, status=Turn.QUEUED).first()
    if turn is None:
        return 0
    goes_first = Q(priority__gt=turn.priority) | Q(priority=turn.priority, queued_at__lt=turn.queued_at)
    live = admission.turns_of_owner(turn.session).filter(status__in=Turn.LIVE)
    return 1 + live.filter(goes_first, status=Turn.QUEUED).count()


def remove_queued(turn: Turn) -> None:
    """Delete a queued turn with its message; raise NotQueued once it has started."""
    _delete_queued(turn)
    notifications.session_changed(turn.session)


@in_transaction
def _delete_queued(turn: Turn) -> None:
    """Lock the turn before its messages are deleted, in the order in which a claim locks them."""
    if not lock_queued(turn).select_for_update().values_list("pk", flat=True).first():
        raise NotQueued
    Turn.objects.filter(pk=turn.pk).delete()


# --- regenerate -----------------------------------------------------------------------------------


def regenerate(
    session: Session,
    *,
    message_id: uuid.UUID | None = None,
    client_id: str | None = None,
    edited: Input | None = None,
    model: str = "",
) -> Submitted:
    """Answer an input again in a new turn on a branch of its own, perhaps with another model; the old turn and all
    later ones leave the history but can be shown again.

    `edited` replaces the input; without files or a page of its own it keeps those of the old one.
    """
    if found := by_client_id(session, client_id):
        return Submitted(turn=found, created=False)
    check_budget(session.user)
    refresh_if_old()
    fresh = _write_again(session, message_id, client_id, edited, model)
    start(fresh)
    return Submitted(turn=fresh, created=True)


@in_transaction
def _write_again(
    session: Session,
    message_id: uuid.UUID | None,
    client_id: str | None,
    edited: Input | None,
    model: str = "",
) -> Turn:
    opened = lock(session)
    if session.turns.filter(status__in=Turn.LIVE).exists():
        raise SessionBusy
    turn = turn_to_redo(session, message_id)
    again = replace(input_of(turn), client_id=client_id, model=model)
    if edited is not None:
        again = replace(
            again,
            text=edited.text,
            attachments=edited.attachments or again.attachments,
            context=edited.context or again.context,
            model=edited.model,
        )
    if session.depth:
        again = replace(again, outside_sources=tuple(turn.outside_sources))
    branch_id = new_id()
    branches.leave(session, turn, branch_id)
    if len(sessions_in_flight(session)) >= settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER:
        raise TooManyTurns
    fresh = write(session, again, seq=opened.seq, turn_id=branch_id)
    newest = turn.replaced_by_id or turn.pk
    session.turns.filter(Q(pk=newest) | Q(replaced_by=newest)).update(replaced_by=fresh)
    return fresh


def input_of(turn: Turn) -> Input:
    """Return the input of a turn, to submit it again; raise NothingToRetry for a continuation."""
    message = turn.messages.filter(role=Message.Role.USER, steered_step=None).first()
    if message is None:
        raise NothingToRetry
    return Input(
        text=message.text,
        attachments=message.attachments,
        context=message.context,
        note=turn.note,
        permissions=turn.permissions,
        model=turn.asked_model,
    )


def turn_to_redo(session: Session, message_id: uuid.UUID | None) -> Turn:
    turns = session.turns.filter(superseded_at=None, kind=Turn.Kind.MESSAGE).exclude(
        end_reason=Turn.EndReason.STEERED
    )
    if message_id is not None:
        turns = turns.filter(pk__in=branches.siblings_of_message(session, message_id))
    turn = turns.order_by("-queued_at").first()
    if turn is None:
        raise NothingToRetry
    return turn


# --- for operators --------------------------------------------------------------------------------


def requeue(turn: Turn) -> Turn:
    """Submit the input of an ended turn again as a new turn; give a stuck one to another worker.

    A worker that still holds the stuck turn is fenced by the next claim.
    """
    if not turn.is_terminal:
        Turn.objects.filter(pk=turn.pk, status=Turn.RUNNING).update(lease_until=None)
        poke(Turn, turn.pk)
        return turn
    fresh = _write_locked(turn.session, input_of(turn))
    start(fresh)
    return fresh


@in_transaction
def _write_locked(session: Session, given: Input) -> Turn:
    return write(session, given, seq=lock(session).seq)


def unanswered(turns: QuerySet[Turn]) -> QuerySet[Turn]:
    """Return the failed turns after which no turn of the session has completed."""
    later = Turn.objects.filter(
        session=OuterRef("session"), status=Turn.COMPLETED, queued_at__gt=OuterRef("queued_at")
    )
    return turns.filter(~Exists(later), status=Turn.FAILED)
