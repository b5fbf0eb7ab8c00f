"""Celery tasks; each is a poke that names a row."""

from __future__ import annotations

import uuid

from celery import shared_task

from durable.runtime import runtime
from executions.engine import run_attempt
from executions.models import BlockRun, Execution
from executions.run_block import block_jobs
from executions.schedules.run_due import run_due
from executions.triggers.dispatch import forget_old


@shared_task(name="executions.run_execution")
def run_execution(execution_id: str) -> None:
    """Run one execution. Once: a second delivery finds the lease held and returns."""
    runtime().run(Execution, uuid.UUID(execution_id), run_attempt.run)


@shared_task(name="executions.run_block")
def run_block(run_id: str) -> None:
    """Run one block by itself. Once: a second delivery finds the lease held and returns."""
    runtime().run(BlockRun, uuid.UUID(run_id), block_jobs.run)


@shared_task(name="executions.run_schedule")
def run_schedule(schedule_id: str) -> None:
    """Run one schedule if it is due. Once per due time, however often it is ticked."""
    run_due(uuid.UUID(schedule_id))


@shared_task(name="executions.forget_old_deliveries")
def forget_old_deliveries() -> None:
    """Delete old webhook calls from the log, a batch at a time."""
    forget_old()
