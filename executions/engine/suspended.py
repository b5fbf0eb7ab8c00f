"""Suspended node runs: they wait for a person, a time or another job, without a thread or a worker."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from blocks.errors import BlockParked, ParkedForJob, ParkedForReview, ParkedUntil
from durable.clock import database_now
from executions import limits
from executions.engine import node_rows
from executions.engine.node_rows import Record
from executions.engine.node_run import NodeRun
from executions.models import Execution, NodeExecution, Review
from executions.models.status import PublicStatus, Status, has_public_status

WaitsFor = NodeExecution.WaitsFor


class SuspendedRuns:
    """The suspended runs of one attempt, by id."""

    def __init__(self) -> None:
        self._runs: dict[uuid.UUID, NodeRun] = {}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __iter__(self) -> Iterable[NodeRun]:
        return iter(self._runs.values())

    def add(self, run: NodeRun) -> None:
        self._runs[run.id] = run

    def take_due(self, *, woken: bool) -> list[NodeRun]:
        """Remove and return the runs that can continue; without a wake-up only those whose time has come."""
        waits = self._waits()
        if not woken:
            waits = {one: wait for one, wait in waits.items() if isinstance(wait, ParkedUntil)}
        return [self._runs.pop(one) for one in (due(waits) if waits else ())]

    def columns(self) -> dict[str, Any]:
        """Return the columns of a suspended execution: whether it waits for a person, and when it is due."""
        waits = self._waits()
        seconds = look_again_in(waits.values())
        run_at = None if seconds is None else Execution.clock.after(seconds)
        return {"asks_person": asks_a_person(waits), "run_at": run_at}

    def _waits(self) -> Mapping[uuid.UUID, BlockParked]:
        return {one: run.parked for one, run in self._runs.items() if run.parked is not None}


def recorded_wait(record: Record) -> BlockParked | None:
    """Return what a run waits for that an earlier attempt suspended; None if it did not."""
    match record.waits_for:
        case WaitsFor.REVIEW:
            return ParkedForReview("")
        case WaitsFor.TIME if record.wake_at is not None:
            return ParkedUntil(record.wake_at)
        case WaitsFor.JOB:
            return ParkedForJob("")
        case _:
            return None


def recorded_facts(record: Record | None) -> dict[str, Any]:
    """Return what an earlier attempt recorded of a run, as fields of NodeRun.

    A run that was begun and neither ended nor suspended is in doubt.
    """
    if record is None:
        return {}
    return {
        "outputs": list(record.outputs),
        "early": list(record.early),
        "in_doubt": record.status in (Status.RUNNING, Status.TERMINATED) and not record.waits_for,
        "has_row": True,
        "parked": recorded_wait(record),
        "started_at": record.started_at,
        "queued_at": record.queued_at,
    }


def record_of(run: NodeRun) -> Record:
    """Return a suspended run as its row has it."""
    waits_for, wake_at = node_rows.waiting(run.parked)
    return Record(
        id=run.id,
        status=Status.WAITING,
        outputs=list(run.outputs),
        early=list(run.early),
        error="",
        waits_for=waits_for,
        wake_at=wake_at,
        started_at=run.started_at,
        queued_at=run.queued_at,
    )


def due(parked: Mapping[uuid.UUID, BlockParked]) -> set[uuid.UUID]:
    """Return the runs whose time has come, whose review is decided, or whose sub-agent has ended.

    A run that waits for a turn is always due: it checks the turn itself.
    """
    now = database_now()
    by_time = {one for one, wait in parked.items() if isinstance(wait, ParkedUntil) and wait.until <= now}
    for_review = [one for one, wait in parked.items() if isinstance(wait, ParkedForReview)]
    for_job = [one for one, wait in parked.items() if not isinstance(wait, ParkedUntil | ParkedForReview)]
    return by_time | decided(for_review) | without_live_child(for_job)


def decided(run_ids: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    waiting = Review.objects.filter(node_id__in=list(run_ids), state=Review.State.WAITING)
    return set(run_ids) - set(waiting.values_list("node_id", flat=True))


def without_live_child(run_ids: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    live = Execution.live().filter(parent_id__in=list(run_ids))
    return set(run_ids) - set(live.values_list("parent_id", flat=True))


def asks_a_person(parked: Mapping[uuid.UUID, BlockParked]) -> bool:
    """Return whether a person must decide before it continues, here or in a sub-agent."""
    if any(isinstance(wait, ParkedForReview) for wait in parked.values()):
        return True
    for_job = [one for one, wait in parked.items() if not isinstance(wait, ParkedUntil)]
    children = Execution.live().filter(parent_id__in=for_job)
    return children.filter(has_public_status(PublicStatus.REVIEW)).exists()


def look_again_in(parked: Iterable[BlockParked]) -> float | None:
    """Return the seconds until the execution is due without a wake-up; None if only a person is waited for."""
    now = database_now()
    moments: list[datetime] = []
    for wait in parked:
        if isinstance(wait, ParkedUntil):
            moments.append(wait.until)
        elif not isinstance(wait, ParkedForReview):
            moments.append(now + timedelta(seconds=limits.PARKED_LOOK_SECONDS))
    return max((min(moments) - now).total_seconds(), 0.0) if moments else None
