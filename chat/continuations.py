"""When an operation has ended: the turn in which the model tells what came of it, and news for the devices."""

from __future__ import annotations

import uuid
from typing import Any

from boundary import taint
from chat import turns
from chat.long_work import client_id_of
from chat.models import Session, Turn
from chat.outside_content import mark
from durable import doorbell
from durable.after_commit import after_commit
from tools import registry
from tools.base import Reads
from tools.models import Operation
from tools.operations.signals import operation_changed, operation_ended


def connect() -> None:
    """Listen to operations; called once when Django is set up."""
    operation_ended.connect(continue_session, dispatch_uid="chat.continue_session")
    operation_changed.connect(ring, dispatch_uid="chat.ring_for_operation")


def continue_session(sender: Any, operation: Operation, **kwargs: Any) -> None:
    """Queue one turn, inside the transaction that ends the operation. Once: its client_id names the operation.

    A person who cancelled an operation knows; no turn is spent on it.
    """
    if operation.status == Operation.CANCELLED:
        return
    if sources := sources_of(operation):
        mark(operation.session_id, sources, turn_id=operation.turn_id)
    queue_turn(operation.session_id, client_id=client_id_of(operation), note=note_about(operation))


def queue_turn(session_id: uuid.UUID, *, client_id: str, note: str) -> None:
    """One turn without an input, behind what runs in the session. Once per client_id, which names what came back.

    Inside the transaction of whatever it is about, so that both happen or neither.
    """
    session = Session.objects.select_for_update(no_key=True).filter(pk=session_id).first()
    if session is None:
        return  # deleted meanwhile: there is nobody to tell
    turn, made = Turn.objects.get_or_create(
        session=session,
        client_id=client_id,
        defaults={
            "user_id": session.user_id,
            "kind": Turn.Kind.CONTINUATION,
            "status": Turn.QUEUED,
            "note": note,
            "poked_at": Turn.clock.now(),
        },
    )
    if made:
        Session.objects.filter(pk=session.pk).update(active_at=Turn.clock.now())
        after_commit(turns.start, turn)


def sources_of(operation: Operation) -> taint.Sources:
    """What its result brings from outside before the model."""
    tool = registry.current().get(operation.tool_name)
    reads = [operation.tool_name] if tool is None or tool.reads is Reads.ALWAYS else []
    return taint.merge(operation.content_sources, reads)


def note_about(operation: Operation) -> str:
    """Words of ours alone: what the tool said is data, and stands in its result."""
    how = "completed" if operation.status == Operation.COMPLETED else "failed"
    return (
        f"The operation {operation.pk} ({operation.tool_name}), started earlier in this conversation, has {how}. "
        f"Its result stands where {operation.tool_name} was called; check_operation_status shows it again. "
        "The person has not written anything new: tell them what came of it, and go on where that is needed."
    )


def ring(sender: Any, operation: Operation, **kwargs: Any) -> None:
    """Tell all devices of the session's owner how far an operation is."""
    session = Session.objects.filter(pk=operation.session_id).first()
    if session is None:
        return
    after_commit(
        doorbell.ring,
        session.owner,
        "operation.updated",
        id=str(operation.pk),
        session_id=str(operation.session_id),
        tool=operation.tool_name,
        status=operation.status,
        progress=operation.progress,
        message=operation.message,
    )
