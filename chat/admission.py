"""Which queued turns may start: one at a time per session, so many per user, in the order they came."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, UUIDField
from django.db.models.functions import Coalesce

from accounts.models import User
from chat.models import Message, Session, Turn, TurnWait
from durable import cancellation, jobs, plain_sql
from durable.database import after_commit, retry_database
from durable.lease import Lease
from durable.publisher import poke
from durable.stop_signal import StopReason

# Opens a session for an input in one statement: see docs/decisions/hot-statements.md.
LIVE = "status IN ('queued', 'running', 'waiting')"  # in the order of the partial indexes
OPEN = f"""\
UPDATE chat_session
SET active_at = {{now}},
    next_seq = next_seq + CASE WHEN EXISTS (SELECT 1 FROM chat_turn WHERE session_id = %s AND {LIVE}) THEN 0 ELSE 2 END
WHERE id = %s
RETURNING next_seq, EXISTS (SELECT 1 FROM chat_turn WHERE session_id = %s AND {LIVE}),
    (SELECT COUNT(*) FROM chat_turn WHERE {{owner}} AND {LIVE}), branch
"""  # noqa: S608
OF_USER = "user_id = %s"
OF_VISITOR = "user_id IS NULL AND session_id IN (SELECT id FROM chat_session WHERE visitor_id = %s)"


def may_start(turn_id: uuid.UUID) -> bool:
    """Return whether a turn heads its session's queue and its user has room. Locks the session."""
    turn = read_locked(turn_id)
    if turn is None:
        return False  # removed from the queue meanwhile
    return turn.status != Turn.QUEUED or has_room(turn)


def read_locked(turn_id: uuid.UUID) -> Turn | None:
    """Return a turn with all that its attempt needs, and lock its session.

    The session is locked before the turn, as when an input is written; the other order could deadlock.
    """
    return next(iter(_read_locked(turn_id)), None)


def _locked(turn_id: uuid.UUID) -> QuerySet[Turn]:
    answer = Message.objects.filter(pk=OuterRef("answer_id"), seq__isnull=False)
    others = Turn.live().filter(user=OuterRef("user")).exclude(pk=OuterRef("pk"))
    rows = Turn.objects.select_related(*Turn.reads_with).select_for_update(of=("session",), no_key=True)
    rows = rows.annotate(claimed_at=Turn.clock.now(), placed=Exists(answer), has_others=Exists(others))
    return rows.filter(pk=turn_id)


_read_locked = plain_sql.PreparedSelect(_locked, uuid.uuid4())


def has_room(turn: Turn) -> bool:
    """Return whether a queued turn may start now. Its session is locked.

    The only live turn of a user may, and nothing else has to be read. A turn that was accepted while this claim waited
    for the lock comes after it, and a constraint keeps a session from having two active turns.

    The user is locked only where the limit decides. As long as all live turns of the user may run at once it does
    not: of two claims at the same time at least one sees both turns.
    """
    if turn.user_id is not None and not getattr(turn, "has_others", True):
        turn.has_steers = False
        return settings.COPILOT_MAX_RUNNING_TURNS_PER_USER > 0
    rows = live_rows(turn.session)
    if len(rows) > settings.COPILOT_MAX_RUNNING_TURNS_PER_USER and lock_user(turn.user_id):
        rows = live_rows(turn.session)
    turn.has_steers = any(
        row.mode == Turn.Mode.STEER and row.status == Turn.QUEUED and row.session_id == turn.session_id
        for row in rows
    )
    return turn.pk in heads(rows)


def lock_user(user_id: int | None) -> bool:
    """Lock the user's row; return False if there is none, or the database locks everything anyway."""
    if user_id is None or not connection.features.has_select_for_update:
        return False
    return User.objects.select_for_update(no_key=True).filter(pk=user_id).only("pk").first() is not None


def lock_session_of(turn_id: uuid.UUID) -> None:
    """Lock the session of a turn, as a claim does before it locks the turn."""
    session = Session.objects.select_for_update(of=("self",), no_key=True).filter(turns=turn_id)
    session.values_list("pk", flat=True).first()


def next_up(session: Session) -> list[uuid.UUID]:
    """Return the queued turns of the session's owner that may start now, in the order they came."""
    return list(heads(live_rows(session)))


def next_after(session: Session) -> list[uuid.UUID]:
    """Return the turns that may start because one of this session has ended.

    That is the next of the session, and the last that fits if the user's limit held it back. All others could start
    before and were poked then.
    """
    rows = live_rows(session)
    startable = list(heads(rows).values())
    held_back = startable[room_of(rows) - 1 :] if room_of(rows) > 0 else []
    return [row.pk for row in startable if row in held_back or row.session_id == session.pk]


class LiveTurn(NamedTuple):
    """What decides about the order of a live turn."""

    pk: uuid.UUID
    session_id: uuid.UUID
    status: str
    mode: str
    waits: bool


def live_rows(session: Session) -> list[LiveTurn]:
    """Return the live turns of the session's owner, in the order they came."""
    if session.user_id is not None:
        return [LiveTurn(*row) for row in _live_of_user(session.user_id)]
    return [LiveTurn(*row) for row in _in_order(turns_of_owner(session))]


def _in_order(turns: QuerySet[Turn]) -> QuerySet[Turn, Any]:
    live = turns.filter(status__in=Turn.LIVE).order_by("-priority", "queued_at", "id")
    return live.values_list("pk", "session_id", "status", "mode", is_waiting())


_live_of_user = plain_sql.PreparedSelect(
    lambda user_id: _in_order(Turn.objects.filter(user_id=user_id)), 2**62 + 1
)


def heads(rows: Sequence[LiveTurn]) -> dict[uuid.UUID, LiveTurn]:
    """Return the queued turns that may start now: the first of each idle session, as many as the user has room for."""
    busy = {row.session_id for row in rows if row.status in Turn.ACTIVE}
    first: dict[uuid.UUID, LiveTurn] = {}
    for row in rows:
        if row.status == Turn.QUEUED and row.session_id not in busy:
            first[row.pk] = row
            busy.add(row.session_id)
    return dict(list(first.items())[: max(room_of(rows), 0)])


def room_of(rows: Sequence[LiveTurn]) -> int:
    """Return how many more turns the owner of these may run."""
    running = sum(row.status == Turn.RUNNING and not row.waits for row in rows)
    return settings.COPILOT_MAX_RUNNING_TURNS_PER_USER - running


def turns_of_owner(session: Session) -> QuerySet[Turn]:
    """Return all turns of the user or visitor that owns the session."""
    if session.user_id:
        return Turn.objects.filter(user_id=session.user_id)
    return Turn.objects.filter(session__visitor_id=session.visitor_id, user=None)


def startable(queued: QuerySet[Any]) -> QuerySet[Any]:
    """Leave out turns behind another one of their session, and those of users without room."""
    same_session = Turn.live().filter(session=OuterRef("session")).exclude(pk=OuterRef("pk"))
    earlier = Q(priority=OuterRef("priority"), queued_at__lt=OuterRef("queued_at"))
    goes_first = Q(status=Turn.QUEUED) & (Q(priority__gt=OuterRef("priority")) | earlier)
    ahead = Q(status__in=Turn.ACTIVE) | goes_first
    running = Turn.live().filter(~is_waiting(), user=OuterRef("user"), status=Turn.RUNNING)
    count = Subquery(running.order_by().values("user").annotate(n=Count("pk")).values("n"))
    counted: QuerySet[Any] = queued.annotate(running_of_user=Coalesce(count, 0))
    return counted.filter(
        ~Exists(same_session.filter(ahead)), running_of_user__lt=settings.COPILOT_MAX_RUNNING_TURNS_PER_USER
    )


def is_waiting() -> Exists:
    """Return the condition for turns that wait for other work and so leave their slot to others."""
    return Exists(TurnWait.objects.filter(turn=OuterRef("pk")))


# --- accepting an input ---------------------------------------------------------------------------


class OpenedSession(NamedTuple):
    """`seq` is the first of two places reserved for the input and its answer; None while other turns are live.

    `branch` is the one that is shown now, which may have changed since the session was read.
    """

    seq: int | None
    live_of_owner: int
    branch: uuid.UUID | None


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
        cursor.execute(OPEN.format(now=plain_sql.NOW[connection.vendor], owner=owner), [own, own, own, name])
        found = cursor.fetchone()
    if found is None:
        return None
    next_seq, is_busy, live, branch = found
    branch = uuid.UUID(branch) if isinstance(branch, str) else branch
    return OpenedSession(None if is_busy else next_seq - 2, live, branch)


GOES_ON_ELSEWHERE = (StopReason.LOST, StopReason.HAND_OVER)


@contextmanager
def waiting(turn: Turn, lease: Lease, *, key: str, job_id: uuid.UUID | None) -> Iterator[None]:
    """Free the turn's slot among its user's running turns inside the block, first of all for what it waits for.

    Otherwise a user with one slot could never have a turn that waits for another. After the wait the turn goes on
    at once, so for a while one more may run than the limit says. The row is kept if another attempt continues the
    wait.
    """
    record = partial(
        TurnWait.objects.update_or_create,
        key=key,
        defaults={"turn": turn, "attempt": lease.attempt, "job_id": job_id},
    )
    lease.commit(record)
    for turn_id in next_up(turn.session):
        poke(Turn, turn_id)
    try:
        yield
    finally:
        if lease.stop.reason not in GOES_ON_ELSEWHERE:
            over = TurnWait.objects.filter(key=key, attempt=lease.attempt)
            retry_database(over.delete, seconds=lease.seconds)


def stop_awaited(turn: Turn) -> None:
    """Stop the turns that an ending turn waits for. Inside the transaction that ends it."""
    awaited = list(turn.waits.values_list("job_id", flat=True))
    for job_id in awaited:
        if job_id and jobs.request_cancel(Turn, job_id):
            after_commit(cancellation.broadcast, job_id)
    if awaited:
        turn.waits.all().delete()
