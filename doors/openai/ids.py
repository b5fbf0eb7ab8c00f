"""Ids as OpenAI writes them, and the numbers of events; all derived from our rows and places, so none is stored."""

from __future__ import annotations

import uuid

from doors.openai import limits
from durable.event_log import Position
from tools.models import call_key
from tools.operations.start import client_operation_id

RESPONSE = "resp_"
COMPLETION = "chatcmpl-"
CONVERSATION = "conv_"
CALL = "call_"
ATTEMPT_BITS = 40  # room for the numbers of one attempt; a JavaScript number holds 8,000 attempts


def response_id(row_id: uuid.UUID) -> str:
    return f"{RESPONSE}{row_id.hex}"


def completion_id(row_id: uuid.UUID) -> str:
    return f"{COMPLETION}{row_id.hex}"


def conversation_id(session_id: uuid.UUID) -> str:
    return f"{CONVERSATION}{session_id.hex}"


def parse(text: str, prefix: str) -> uuid.UUID | None:
    """Return the id of the row; None if the text is not such an id."""
    try:
        return uuid.UUID(hex=text.removeprefix(prefix)) if text.startswith(prefix) else None
    except ValueError:
        return None


def client_call_id(turn_id: uuid.UUID, step: int, call_id: str) -> str:
    """Return the name by which a client answers a call of its tool: the id of the operation."""
    return f"{CALL}{client_operation_id(call_key(turn_id, step, call_id)).hex}"


def sequence_number(at: Position, index: int) -> int:
    """Return the number of the event that stands at `index` among those of one place.

    Numbers only grow along a log, a later attempt being above all earlier ones, and are the same in every replay.
    """
    return first_number(at) + min(index, limits.EVENTS_PER_PLACE - 1)


def first_number(at: Position) -> int:
    """Return the number of the first event of a place."""
    attempt, seq = at
    return (attempt - (attempt > 0) << ATTEMPT_BITS) + seq * limits.EVENTS_PER_PLACE
