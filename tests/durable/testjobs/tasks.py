"""The Celery task of a chore."""

from __future__ import annotations

import uuid

from celery import shared_task

from durable.errors import HandOver, JobCancelled
from durable.lease import Lease
from durable.runtime import runtime
from tests.durable.testjobs.events import Mark
from tests.durable.testjobs.models import Chore, Tick


@shared_task(name=Chore.task_name)
def run_chore(chore_id: str) -> None:
    runtime().run(Chore, uuid.UUID(chore_id), work)


def work(lease: Lease) -> None:
    """Go on after the last tick that was committed; each tick is a boundary where the job may be handed over."""
    chore = Chore.objects.get(pk=lease.job_id)
    try:
        for number in range(chore.done.count(), chore.ticks):
            if lease.draining:
                raise HandOver
            lease.stop.wait(chore.pace_seconds)
            lease.check()
            lease.emitter.emit(Mark(text=f"{number} "))
            lease.commit(lambda number=number: tick(lease, number))  # type: ignore[misc]
    except JobCancelled:
        lease.finish(Chore.CANCELLED, reason="cancelled", events=[Mark(text="cancelled")])
    else:
        lease.finish(Chore.COMPLETED, reason="done", events=[Mark(text="end")])


def tick(lease: Lease, number: int) -> None:
    Tick.objects.create(chore_id=lease.job_id, number=number, attempt=lease.attempt, owner=lease.owner)
