"""The statement that reads a conversation for the model: its messages and the steps of their turns, in one.

Written as SQL because every turn runs it and long conversations have thousands of rows; see
docs/decisions/hot-statements.md.
"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import UUIDField

READ = """
SELECT m.seq, m.role, m.turn_id, m.steered_step, m.text, m.context, m.attachments, m.created_at, t.note, t.kind,
       s.number, s.parts, s.carry
FROM chat_message m
LEFT JOIN chat_turn t ON t.id = m.turn_id
LEFT JOIN chat_step s ON s.turn_id = m.turn_id AND m.role = 'assistant'
WHERE m.session_id = %s AND m.seq >= %s AND t.superseded_at IS NULL AND (t.id IS NULL OR t.status <> 'queued')
ORDER BY m.seq, s.number
"""
MESSAGE_COLUMNS = 10


class HistoryRow(NamedTuple):
    """The columns the model's history needs of a message."""

    seq: int
    role: str
    turn_id: uuid.UUID | None
    steered_step: int | None
    text: str
    context: dict[str, Any] | None
    attachments: list[str]
    created_at: datetime
    note: str | None
    kind: str | None


class HistoryStep(NamedTuple):
    """The columns the model's history needs of a step."""

    number: int
    parts: list[dict[str, Any]]
    carry: str


def read(session_id: uuid.UUID, *, since: int) -> tuple[list[HistoryRow], dict[uuid.UUID, list[HistoryStep]]]:
    """Return the messages of started turns from a `seq` on, in order, and the steps of those turns."""
    with connection.cursor() as cursor:
        cursor.execute(READ, [UUIDField().get_db_prep_value(session_id, connection), since])
        found = cursor.fetchall()
    rows: list[HistoryRow] = []
    steps: dict[uuid.UUID, list[HistoryStep]] = {}
    for values in found:
        if not rows or rows[-1].seq != values[0]:
            rows.append(message_in(values))
        number, parts, carry = values[MESSAGE_COLUMNS:]
        turn_id = rows[-1].turn_id
        if number is not None and turn_id is not None:
            steps.setdefault(turn_id, []).append(HistoryStep(number, json.loads(parts), carry))
    return rows, steps


def message_in(values: tuple[Any, ...]) -> HistoryRow:
    """Return a message from its columns, which SQLite gives as text and numbers."""
    seq, role, turn_id, steered_step, text, context, attachments, created_at, note, kind = values[
        :MESSAGE_COLUMNS
    ]
    if isinstance(turn_id, str):
        turn_id = uuid.UUID(turn_id)
    if isinstance(created_at, str):
        created_at = datetime.fromisoformat(created_at).replace(tzinfo=UTC)
    page = None if context is None else json.loads(context)
    return HistoryRow(
        seq, role, turn_id, steered_step, text, page, json.loads(attachments), created_at, note, kind
    )
