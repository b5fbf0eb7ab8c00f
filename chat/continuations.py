"""Continuation turns after operations, and pushes of their progress to the devices."""

from __future__ import annotations

import uuid
from typing import Any

from boundary import taint
from chat import model_choice, turns
from chat.models import Session, Turn
from chat.outside_content import mark
from chat.turn_log import client_id_of
from durable import client_push
from durable.database import after_commit, in_transaction
from executions import limits as executions_limits
from tools import toolset
from tools.base import Reads
from tools.models import Operation
from tools.operations.lifecycle import operation_changed, operation_ended


def connect() -> None:
    """Connect the signal handlers; called once when Django is set up."""
    operation_ended.connect(continue_session, dispatch_uid="chat.continue_session")
    operation_changed.connect(push_progress, dispatch_uid="chat.push_operation")


def continue_session(sender: Any, operation: Operation, **kwargs: Any) -> None:
    """Queue the continuation turn of an operation, inside the transaction that ends it.

    Once: its client_id names the operation. A cancelled operation gets none.
    """
    if operation.status == Operation.CANCELLED:
        return
    if sources := sources_of(operation):
        mark(operation.session_id, sources, turn_id=operation.turn_id)
    if operation.for_client:
        return  # the request that brings the result goes on with the conversation
    queue_turn(
        operation.session_id,
        client_id=client_id_of(operation),
        note=note_about(operation),
        started_by=operation.turn_id,
    )


def queue_turn(
    session_id: uuid.UUID, *, client_id: str, note: str, started_by: uuid.UUID | None = None
) -> None:
    """Queue a turn without an input in the session. Idempotent per client_id.

    It is answered by the model of the turn that started the work, or of the session's newest turn.

    Call it inside the transaction that ends the work the turn is about, so that both happen or neither.
    """
    session = Session.objects.select_for_update(no_key=True).filter(pk=session_id).first()
    if session is None:
        return  # deleted meanwhile
    turn, created = Turn.objects.get_or_create(
        session=session,
        client_id=client_id,
        defaults=continuation(session, note, started_by) | {"poked_at": Turn.clock.now()},
    )
    expected = Turn.objects.filter(pk=turn.pk, status=Turn.WAITING, attempt=0)
    if created or expected.update(status=Turn.QUEUED, run_at=None, note=note, poked_at=Turn.clock.now()):
        Session.objects.filter(pk=session.pk).update(active_at=Turn.clock.now())
        after_commit(turns.start, turn)


def continuation(session: Session, note: str, started_by: uuid.UUID | None) -> dict[str, Any]:
    return {
        "user_id": session.user_id,
        "branch": session.branch,
        "kind": Turn.Kind.CONTINUATION,
        "status": Turn.QUEUED,
        "note": note,
        "asked_model": model_choice.model_to_continue(session, turn_before(session, started_by)),
    }


@in_transaction
def expect_turn(session_id: uuid.UUID, operation_id: uuid.UUID) -> Turn:
    """Return the continuation turn of an operation, for a client that must read it now; it waits for the operation.

    Once: the end of the operation finds this turn and lets it run.
    """
    session = Session.objects.select_for_update(no_key=True).get(pk=session_id)
    operation = Operation.objects.get(pk=operation_id)
    turn, _ = Turn.objects.get_or_create(
        session=session,
        client_id=client_id_of(operation),
        defaults=continuation(session, note_about(operation), operation.turn_id)
        | {"status": Turn.WAITING, "run_at": Turn.clock.after(executions_limits.MAX_OPERATION_SECONDS)},
    )
    return turn


def turn_before(session: Session, turn_id: uuid.UUID | None) -> Turn | None:
    turns_of_session = session.turns.filter(superseded_at=None).only("asked_model").order_by("-queued_at")
    return (turns_of_session.filter(pk=turn_id) if turn_id else turns_of_session).first()


def sources_of(operation: Operation) -> taint.Sources:
    """Return the outside sources of the operation's result."""
    tool = toolset.find(operation.tool_name, operation.user_id)
    reads = [operation.tool_name] if tool is None or tool.reads is Reads.ALWAYS else []
    return taint.merge(operation.content_sources, reads)


def note_about(operation: Operation) -> str:
    """Return the note for the model: our words only; the tool's output is data, and is in its result."""
    status = "completed" if operation.status == Operation.COMPLETED else "failed"
    return (
        f"The operation {operation.pk} ({operation.tool_name}), started earlier in this conversation, has {status}. "
        f"Its result is in the call of {operation.tool_name}; check_operation_status shows it again. "
        "The person has not written anything new: tell them the outcome, and go on if more is needed."
    )


def push_progress(sender: Any, operation: Operation, **kwargs: Any) -> None:
    """Push the operation's progress to all devices of the session's owner."""
    session = Session.objects.filter(pk=operation.session_id).first()
    if session is None:
        return
    after_commit(
        client_push.push,
        session.owner,
        "operation.updated",
        id=str(operation.pk),
        session_id=str(operation.session_id),
        tool=operation.tool_name,
        status=operation.status,
        progress=operation.progress,
        message=operation.message,
    )
