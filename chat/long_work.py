"""How an operation shows in the stream of a turn: its progress while both run, its end in the turn it brought about."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chat.events import OperationNews
from chat.protocol import chunk
from durable import limits
from tools.models import Operation

if TYPE_CHECKING:
    from chat.models import Turn

CLIENT_ID = "operation:"  # of the one turn that an operation brings about


def client_id_of(operation: Operation) -> str:
    return f"{CLIENT_ID}{operation.pk}"


def news_of(operation: Operation, *, passing: bool) -> OperationNews:
    """A passing one is a note for those who watch; the other is part of the answer, and stands."""
    message = operation.answer()["message"] if operation.is_terminal else operation.message
    return OperationNews(
        operation_id=str(operation.pk),
        tool=operation.tool_name,
        status=operation.status,
        progress=operation.progress,
        message=str(message)[: limits.MAX_OPERATION_MESSAGE_CHARACTERS],
        passing=passing,
    )


def causes(turns: Sequence[Turn]) -> dict[uuid.UUID, Operation]:
    """The operation that brought each turn about, for those that have one; one query for all of them."""
    wanted = {
        uuid.UUID(turn.client_id.removeprefix(CLIENT_ID)): turn.pk
        for turn in turns
        if turn.kind == turn.Kind.CONTINUATION
        and (turn.client_id or "").startswith(CLIENT_ID)
        and turn.client_id
    }
    if not wanted:
        return {}
    return {wanted[operation.pk]: operation for operation in Operation.objects.filter(pk__in=wanted)}


def opening_news(turn: Turn) -> list[OperationNews]:
    """What a turn begins with: the end of the operation that brought it about, if one did."""
    return [news_of(operation, passing=False) for operation in causes([turn]).values()]


def opening_parts(operation: Operation | None) -> list[dict[str, Any]]:
    """The same as a client has it after it heard the stream."""
    return [] if operation is None else [chunk(news_of(operation, passing=False))]
