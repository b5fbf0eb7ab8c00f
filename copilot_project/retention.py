"""What is thrown away when it is old: recorded streams, executions, logs of calls, loose files, ended logins.

Conversations and the ledger are kept until somebody deletes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session as LoginSession
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from chat.models import Turn
from durable import guard, limits, log
from durable.models import EventPage, Job
from durable.retrying import in_transaction
from executions.block_runs import forget_old_block_runs
from executions.models import Execution
from executions.triggers import delivering
from webhooks import deliveries
from workspace import cleaning

Broom = Callable[[], int]


def throw_away_old(*, seconds: float = limits.RETENTION_SECONDS) -> dict[str, int]:
    """Run every broom until there is nothing left or the time is over; how many rows each removed.

    Twice does no harm, and two at once take each other's work away at worst.
    """
    deadline = time.monotonic() + seconds
    removed: dict[str, int] = dict.fromkeys(BROOMS, 0)

    def run(name: str) -> None:
        removed[name] = sweep(BROOMS[name], deadline)

    guard.run_each(BROOMS, run, what="Throwing away what is old")
    return removed


def sweep(broom: Broom, deadline: float) -> int:
    total = 0
    while (removed := broom()) and time.monotonic() < deadline:
        total += removed
    return total + removed


def old_events() -> int:
    """The recorded streams of turns that ended long ago: a reader is shown what the rows say instead."""
    recorded = EventPage.objects.values("job_id")
    ids = old_ids(Turn, Turn.objects.filter(pk__in=recorded), settings.COPILOT_KEEP_EVENTS_DAYS)
    return EventPage.objects.filter(job_id__in=ids).delete()[0]


def old_executions() -> int:
    """Executions that ended long ago, with their nodes and what they started."""
    whole = Execution.objects.filter(parent=None)
    ids = old_ids(Execution, whole, settings.COPILOT_KEEP_EXECUTIONS_DAYS)
    return delete_executions(ids)


@in_transaction
def delete_executions(ids: list[Any]) -> int:
    log.forget(ids)
    return Execution.objects.filter(pk__in=ids).delete()[0]


def old_ids(model: type[Job], rows: QuerySet[Any], days: int) -> list[Any]:
    if not days:
        return []
    before = timezone.now() - timedelta(days=days)
    old = rows.filter(status__in=model.TERMINAL, ended_at__lt=before).order_by("ended_at")
    return list(old.values_list("pk", flat=True)[: limits.PURGE_BATCH])


def ended_logins() -> int:
    return LoginSession.objects.filter(expire_date__lt=timezone.now()).delete()[0]


def vacuum() -> bool:
    """Give the disk back what deleted rows took; SQLite alone needs to be told. Writers wait meanwhile."""
    if connection.vendor != "sqlite":
        return False
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return True


BROOMS: dict[str, Broom] = {
    "event pages": old_events,
    "executions": old_executions,
    "block runs": forget_old_block_runs,
    "webhook deliveries": deliveries.forget_old,
    "trigger calls": delivering.forget_old,
    "loose files": cleaning.purge_deleted,
    "ended logins": ended_logins,
}
