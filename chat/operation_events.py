"""Events of operations in the stream of a turn: progress while both run, the result in the turn that follows."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from chat import limits
from chat.events import OperationUpdate
from chat.models import Turn
from chat.protocol import chunk
from tools.models import Operation

CLIENT_ID = "operation:"  # prefix of the client_id of the continuation turn of an operation


def client_id_of(operation: Operation) -> str:
    return f"{CLIENT_ID}{operation.pk}"


def progress_event(operation: Operation, *, transient: bool) -> OperationUpdate:
    """Return the operation's state as an event; a transient one is not part of the answer."""
    message = operation.answer()["message"] if operation.is_terminal else operation.message
    return OperationUpdate(
        operation_id=str(operation.pk),
        tool=operation.tool_name,
        status=operation.status,
        progress=operation.progress,
        message=str(message)[: limits.MAX_OPERATION_MESSAGE_CHARACTERS],
        transient=transient,
    )


def causes(turns: Sequence[Turn]) -> dict[uuid.UUID, Operation]:
    """Return the operation that caused each continuation turn, by turn, with one query."""
    wanted = {
        uuid.UUID(turn.client_id.removeprefix(CLIENT_ID)): turn.pk
        for turn in turns
        if turn.kind == turn.Kind.CONTINUATION and turn.client_id and turn.client_id.startswith(CLIENT_ID)
    }
    if not wanted:
        return {}
    return {wanted[operation.pk]: operation for operation in Operation.objects.filter(pk__in=wanted)}


def cause_events(turn: Turn) -> list[OperationUpdate]:
    """Return the end of the operation that caused the turn as its first event, if one did."""
    return [progress_event(operation, transient=False) for operation in causes([turn]).values()]


def cause_parts(operation: Operation | None) -> list[dict[str, Any]]:
    """Return the same as parts of the fetched message."""
    return [] if operation is None else [chunk(progress_event(operation, transient=False))]
