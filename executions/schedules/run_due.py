"""Runs of due schedules, exactly one per due time."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime

from django.db import InterfaceError, OperationalError, transaction

from durable import database, storable
from durable import limits as durable_limits
from durable.clock import database_now
from durable.database import in_transaction
from durable.errors import Refusal
from executions import limits
from executions.errors import CannotRun
from executions.models import Execution, Schedule
from executions.schedules.cron import Cron, read_cron
from executions.start import ExecutionRequest, start

logger = logging.getLogger(__name__)
UNFORESEEN = "It could not be started because of an error on our side. The error was logged."


def run_due(schedule_id: uuid.UUID) -> Execution | None:
    """Start the agent for the latest due time of the schedule; return None if it is not due.

    Once per due time: the execution and the note that it was started for that time are one transaction, and the
    due time is its `client_id`. Of the times missed while nothing ran, only the latest is made up.
    """
    if not is_due(schedule_id):
        return None  # checked before the transaction, which on SQLite would block all other writers
    return _run_locked(schedule_id)


@in_transaction
def _run_locked(schedule_id: uuid.UUID) -> Execution | None:
    schedule = Schedule.objects.select_for_update(of=("self",), no_key=True).get(pk=schedule_id)
    now = database_now()
    if not schedule.enabled or schedule.next_run_at is None or schedule.next_run_at > now:
        return None
    return run_for(schedule, now)


def is_due(schedule_id: uuid.UUID) -> bool:
    due = Schedule.objects.filter(pk=schedule_id, enabled=True, next_run_at__lte=Execution.clock.now())
    return due.exists()


def run_for(schedule: Schedule, now: datetime) -> Execution | None:
    """Start it and record the result; a schedule that cannot be started records why and stays active."""
    execution = None
    schedule.last_error, schedule.next_run_at = "", None
    try:
        cron = cron_of(schedule)
        schedule.last_due_at, schedule.next_run_at = cron.last_until(now), cron.next_after(now)
        with transaction.atomic():
            execution = start_agent(schedule, due_key(schedule, schedule.last_due_at))
            schedule.last_execution = execution
    except Refusal as error:
        schedule.last_error = storable.text(str(error))
    except (OperationalError, InterfaceError):
        raise  # the database is unavailable, so nothing could be recorded
    except Exception:  # an error of one agent must not keep its schedule from the next due time
        logger.exception("schedule %s could not be started", schedule.pk)
        schedule.last_error = UNFORESEEN
    schedule.save(update_fields=["last_due_at", "next_run_at", "last_error", "last_execution"])
    return execution


def run_now(schedule: Schedule, *, client_id: str = "") -> Execution:
    """Start it at once, due or not, enabled or not; raises what `start` raises.

    Once per client_id, when there is one.
    """
    key = f"schedule:{schedule.pk}:now:{client_id or uuid.uuid4()}"
    execution = start_agent(schedule, key)
    Schedule.objects.filter(pk=schedule.pk).update(last_execution=execution)
    return execution


def run_late() -> int:
    """Run schedules that are due and were not ticked in time; return how many started."""
    patience = Execution.clock.after(-limits.SCHEDULE_PATIENCE_SECONDS)
    late = Schedule.objects.filter(enabled=True, next_run_at__lte=patience).order_by("next_run_at")
    ids = list(late.values_list("pk", flat=True)[: durable_limits.SWEEP_BATCH])
    started = database.run_each(ids, run_due, what="A late schedule")
    return sum(execution is not None for execution in started)


def start_agent(schedule: Schedule, key: str) -> Execution:
    agent = schedule.agent
    if not schedule.user.is_active:
        raise CannotRun("The account of its owner is deactivated.")
    if agent.deleted_at is not None:
        raise CannotRun(
            f"The agent {agent.name!r} was deleted. Delete this schedule, or create one for another agent."
        )
    order = ExecutionRequest(
        version=schedule.version,
        client_id=key,
        source=Execution.Source.SCHEDULE,
        permissions=schedule.permissions,
        session_id=schedule.session_id,
    )
    return start(schedule.user, agent, schedule.inputs, order).execution


def cron_of(schedule: Schedule) -> Cron:
    return read_cron(schedule.cron, schedule.timezone)


def due_key(schedule: Schedule, due_at: datetime) -> str:
    return f"schedule:{schedule.pk}:{due_at:%Y-%m-%dT%H:%MZ}"
