"""The state of workers by their last heartbeat: alive, draining or silent."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from durable import limits
from durable.clock import database_now
from durable.models import WorkerBeat

ALIVE, DRAINING, SILENT = "alive", "draining", "silent"


def fresh_since() -> datetime:
    """Return the time after which a worker's last heartbeat counts as alive."""
    beats = limits.WORKER_FRESH_BEATS * settings.COPILOT_HEARTBEAT_SECONDS
    return database_now() - timedelta(seconds=beats)


def state_of(worker: WorkerBeat) -> str:
    if worker.seen_at <= fresh_since():
        return SILENT
    return DRAINING if worker.drain_requested_at else ALIVE
