"""Delete old data: recorded events, executions, logs of calls, deleted files and expired logins.

Conversations and the ledger are kept until a user or operator deletes them.
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

from chat import sessions
from chat.models import Turn
from copilot_project import limits
from durable import database, event_log
from durable.database import in_transaction
from durable.models import EventPage, Job
from executions.models import Execution
from executions.run_block.block_jobs import forget_old_block_runs
from executions.triggers import dispatch
from webhooks import deliveries
from workspace import blobs
from workspace import limits as workspace_limits

Deleter = Callable[[], int]  # deletes a batch and returns its size


def delete_old(*, seconds: float = limits.RETENTION_SECONDS) -> dict[str, int]:
    """Run every deleter until nothing is left or the time is up; return how many rows each deleted.

    Safe to run twice, and at the same time.
    """
    deadline = time.monotonic() + seconds
    removed: dict[str, int] = dict.fromkeys(DELETERS, 0)

    def run(name: str) -> None:
        removed[name] = repeat(DELETERS[name], deadline)

    database.run_each(DELETERS, run, what="Deleting old data")
    return removed


def repeat(delete_batch: Deleter, deadline: float) -> int:
    total = 0
    while (removed := delete_batch()) and time.monotonic() < deadline:
        total += removed
    return total + removed


def old_events() -> int:
    """Delete the recorded events of old turns; readers get the messages from the database instead."""
    recorded = EventPage.objects.values("job_id")
    ids = old_ids(Turn, Turn.objects.filter(pk__in=recorded), settings.COPILOT_KEEP_EVENTS_DAYS)
    return EventPage.objects.filter(job_id__in=ids).delete()[0]


def old_executions() -> int:
    """Delete old executions with their node executions and the executions they started."""
    whole = Execution.objects.filter(parent=None)
    ids = old_ids(Execution, whole, settings.COPILOT_KEEP_EXECUTIONS_DAYS)
    return delete_executions(ids)


@in_transaction
def delete_executions(ids: list[Any]) -> int:
    event_log.forget(ids)
    return Execution.objects.filter(pk__in=ids).delete()[0]


def old_ids(model: type[Job], rows: QuerySet[Any], days: int) -> list[Any]:
    if not days:
        return []
    before = timezone.now() - timedelta(days=days)
    old = rows.filter(status__in=model.TERMINAL, ended_at__lt=before).order_by("ended_at")
    return list(old.values_list("pk", flat=True)[: workspace_limits.PURGE_BATCH])


def expired_sessions() -> int:
    """Delete hidden sessions of clients that keep their own history."""
    return sessions.delete_expired(workspace_limits.PURGE_BATCH)


def ended_logins() -> int:
    return LoginSession.objects.filter(expire_date__lt=timezone.now()).delete()[0]


def vacuum() -> bool:
    """Shrink a SQLite database; return False on PostgreSQL, which does it by itself. Writers wait meanwhile."""
    if connection.vendor != "sqlite":
        return False
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return True


DELETERS: dict[str, Deleter] = {
    "event pages": old_events,
    "executions": old_executions,
    "block runs": forget_old_block_runs,
    "webhook deliveries": deliveries.forget_old,
    "trigger calls": dispatch.forget_old,
    "loose files": blobs.purge_deleted,
    "ended logins": ended_logins,
    "hidden sessions": expired_sessions,
}
