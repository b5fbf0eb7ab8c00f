"""The statement that opens a session for an input: lock it, move it to the top, reserve places, count live turns.

Written as SQL because every POST runs it and the ORM has no RETURNING; see docs/decisions/hot-statements.md.
"""

from __future__ import annotations

from typing import NamedTuple

from django.db import connection
from django.db.models import UUIDField

from chat.models import Session

LIVE = "status IN ('queued', 'running', 'waiting')"  # in the order of the partial indexes
OPEN = f"""
UPDATE chat_session
SET active_at = {{now}},
    next_seq = next_seq + CASE WHEN EXISTS (SELECT 1 FROM chat_turn WHERE session_id = %s AND {LIVE}) THEN 0 ELSE 2 END
WHERE id = %s
RETURNING next_seq, EXISTS (SELECT 1 FROM chat_turn WHERE session_id = %s AND {LIVE}),
    (SELECT COUNT(*) FROM chat_turn WHERE {{owner}} AND {LIVE})
"""  # noqa: S608
OF_USER = "user_id = %s"
OF_VISITOR = "user_id IS NULL AND session_id IN (SELECT id FROM chat_session WHERE visitor_id = %s)"
NOW = {"sqlite": "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')", "postgresql": "STATEMENT_TIMESTAMP()"}


class OpenedSession(NamedTuple):
    """`seq` is the first of two places reserved for the input and its answer; None while other turns are live."""

    seq: int | None
    live_of_owner: int


def open_for_input(session: Session) -> OpenedSession | None:
    """Lock the session's row, so that its inputs wait for each other; return None if it was deleted.

    On PostgreSQL the counts are those of the moment before the lock was granted. An input that is placed beside
    another one that came then has the later place, as it is later in the queue.
    """
    own = UUIDField().get_db_prep_value(session.pk, connection)
    if session.user_id is not None:
        owner, name = OF_USER, session.user_id
    else:
        owner, name = OF_VISITOR, UUIDField().get_db_prep_value(session.visitor_id, connection)
    with connection.cursor() as cursor:
        cursor.execute(OPEN.format(now=NOW[connection.vendor], owner=owner), [own, own, own, name])
        found = cursor.fetchone()
    if found is None:
        return None
    next_seq, is_busy, live = found
    return OpenedSession(None if is_busy else next_seq - 2, live)
