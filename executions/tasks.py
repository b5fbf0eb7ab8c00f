"""Celery tasks: each is a poke that names a row."""

from __future__ import annotations

import uuid

from celery import shared_task

from durable.poke import poke
from durable.runtime import runtime
from executions import block_runs, line
from executions.engine import running
from executions.models import BlockRun, Execution
from executions.schedules.running import run_due
from executions.triggers.delivering import forget_old


@shared_task(name="executions.run_execution")
def run_execution(execution_id: str) -> None:
    """Run the execution whose turn it is, which is this one unless somebody else's has waited for less of a share.

    Once: a second delivery finds the lease held and returns. One that is passed over stands at the back now.
    """
    hint, pauses = uuid.UUID(execution_id), runtime().pauses
    if pauses.hold(Execution, hint):
        return  # a sweep pokes again when the pause is over
    chosen = line.next_in_line(Execution, hint, paused=pauses.users)
    if chosen != hint:
        poke(Execution, hint)
    runtime().run(Execution, chosen, running.run)


@shared_task(name="executions.run_block")
def run_block(run_id: str) -> None:
    """Run one block by itself. Once: a second delivery finds the lease held and returns."""
    runtime().run(BlockRun, uuid.UUID(run_id), block_runs.run)


@shared_task(name="executions.run_schedule")
def run_schedule(schedule_id: str) -> None:
    """Run one schedule if it is due. Once per due time, however often it is ticked."""
    run_due(uuid.UUID(schedule_id))


@shared_task(name="executions.forget_old_deliveries")
def forget_old_deliveries() -> None:
    """Cut the log of webhook calls; what is left over goes the next time."""
    forget_old()
