"""The runs of an execution that were put aside: they wait for a person, a time or another job."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from executions.blocks.errors import BlockParked, ParkedForJob, ParkedForReview, ParkedUntil
from executions.engine import parking, rows
from executions.engine.noderun import NodeRun
from executions.engine.rows import Record
from executions.models import Execution, NodeExecution
from executions.models.execution import Status

WaitsFor = NodeExecution.WaitsFor


class Aside:
    """By id, each with what it waits for."""

    def __init__(self) -> None:
        self._runs: dict[uuid.UUID, NodeRun] = {}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __iter__(self) -> Iterable[NodeRun]:
        return iter(self._runs.values())

    def put(self, run: NodeRun) -> None:
        self._runs[run.id] = run

    def take_due(self, *, called: bool) -> list[NodeRun]:
        """Those that can go on; unless somebody called, only time has passed."""
        waits = self._waits()
        if not called:
            waits = {one: wait for one, wait in waits.items() if isinstance(wait, ParkedUntil)}
        due = parking.due(waits) if waits else set()
        return [self._runs.pop(one) for one in due]

    def changes(self) -> dict[str, Any]:
        """The columns of an execution that only waits: REVIEW when a person is asked, else running without a worker."""
        waits = self._waits()
        seconds = parking.look_again_in(waits.values())
        if parking.asks_a_person(waits):
            due = None if seconds is None else Execution.clock.after(seconds)
            return {"status": Execution.WAITING, "lease_until": None, "run_at": due}
        return {"lease_until": Execution.clock.after(seconds or 0.0)}

    def _waits(self) -> Mapping[uuid.UUID, BlockParked]:
        return {one: run.parked for one, run in self._runs.items() if run.parked is not None}


def wait_of(record: Record) -> BlockParked | None:
    """What a run that an earlier attempt put aside waits for; None when it was not put aside."""
    match record.waits_for:
        case WaitsFor.REVIEW:
            return ParkedForReview("")
        case WaitsFor.TIME if record.wake_at is not None:
            return ParkedUntil(record.wake_at)
        case WaitsFor.JOB:
            return ParkedForJob("")
        case _:
            return None


def left_by(record: Record | None) -> dict[str, Any]:
    """What an earlier attempt left of a run, as facts of the run. One that was begun and not put aside is in doubt."""
    if record is None:
        return {}
    return {
        "outputs": list(record.outputs),
        "early": list(record.early),
        "in_doubt": record.status in (Status.RUNNING, Status.TERMINATED) and not record.waits_for,
        "has_row": True,
        "parked": wait_of(record),
        "started_at": record.started_at,
        "queued_at": record.queued_at,
    }


def record_of(run: NodeRun) -> Record:
    """A run that was put aside, as the row has it."""
    waits_for, wake_at = rows.waiting(run.parked)
    return Record(
        id=run.id,
        status=Status.RUNNING,
        outputs=list(run.outputs),
        early=list(run.early),
        error="",
        waits_for=waits_for,
        wake_at=wake_at,
        started_at=run.started_at,
        queued_at=run.queued_at,
    )
