"""Rows of node runs: written in batches, and read back by a takeover."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from blocks.errors import BlockParked, ParkedForReview, ParkedUntil
from blocks.ports import JSON
from executions.engine.dataflow import Event, RunEmitted, RunEnded, RunKey
from executions.engine.large_values import shown_inputs
from executions.engine.node_run import NodeRun
from executions.engine.ports.store import scope_of_run
from executions.models import Execution, NodeExecution, StoredValue
from executions.models.status import Status

WRITTEN = [
    "seq",
    "early",
    "status",
    "inputs",
    "outputs",
    "error",
    "attempt",
    "progress",
    "cost",
    "waits_for",
    "wake_at",
    "started_at",
    "ended_at",
]
BATCH = 500
ENDED = frozenset({Status.COMPLETED, Status.FAILED})


def run_id(execution_id: uuid.UUID, key: RunKey) -> uuid.UUID:
    """Return the id of a run, the same in every attempt: the idempotency key of its effects."""
    return uuid.uuid5(execution_id, f"{key.number} {key.node_id}")


# --- writing ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NodeUpdate:
    """What to write of a run."""

    run: NodeRun
    status: Status
    count: int  # of its outputs; those of a continuing run are written when they are passed on
    seq: int | None = None
    cost: Decimal = Decimal(0)


def save(execution_id: uuid.UUID, attempt: int, entries: Sequence[NodeUpdate]) -> None:
    """Insert or update all of them in one statement, inside the caller's transaction."""
    rows = [make_row(execution_id, attempt, entry) for entry in entries]
    NodeExecution.objects.bulk_create(
        rows, BATCH, update_conflicts=True, unique_fields=["id"], update_fields=WRITTEN
    )


def make_row(execution_id: uuid.UUID, attempt: int, entry: NodeUpdate) -> NodeExecution:
    run = entry.run
    ended = entry.status in ENDED or entry.status == Status.TERMINATED
    waits_for, wake_at = ("", None) if ended else waiting(run.parked)
    return NodeExecution(
        id=run.id,
        execution_id=execution_id,
        node_id=run.node.id,
        block_id=run.node.block.id,
        run=run.key.number if run.key else None,
        caller_id=run.caller_id,
        seq=entry.seq,
        early=[list(pair) for pair in run.early],
        status=entry.status,
        inputs=shown_inputs(run.shown_inputs or run.inputs, run.node.secret_pins),
        outputs=[list(pair) for pair in run.outputs[: entry.count]],
        error=run.error or run.note,
        attempt=attempt,
        progress=1.0 if entry.status == Status.COMPLETED else run.progress,
        cost=entry.cost,
        waits_for=waits_for,
        wake_at=wake_at,
        started_at=run.started_at,
        ended_at=run.ended_at if ended else None,
    )


def waiting(parked: BlockParked | None) -> tuple[str, datetime | None]:
    match parked:
        case None:
            return "", None
        case ParkedForReview():
            return NodeExecution.WaitsFor.REVIEW, None
        case ParkedUntil():
            return NodeExecution.WaitsFor.TIME, parked.until
        case _:
            return NodeExecution.WaitsFor.JOB, None


def forget_stored(user_id: int, run_ids: Iterable[uuid.UUID]) -> None:
    """Delete what ended runs had stored for their next attempt."""
    scopes = [scope_of_run(one) for one in run_ids]
    if scopes:
        StoredValue.objects.filter(user_id=user_id, scope__in=scopes).delete()


# --- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Record:
    """What an earlier attempt recorded of a run that has not ended, or of a tool call."""

    id: uuid.UUID
    status: str
    outputs: list[tuple[str, JSON]]
    early: list[tuple[int, int]]
    error: str
    waits_for: str
    wake_at: datetime | None
    started_at: datetime | None
    queued_at: datetime


@dataclass(frozen=True, kw_only=True)
class History:
    """The committed state of an execution: its events in order, and its open runs and tool calls."""

    events: list[Event] = field(default_factory=list)
    records: dict[uuid.UUID, Record] = field(default_factory=dict)
    last_seq: int = 0  # of these events


def read_history(execution: Execution) -> History:
    placed: list[tuple[int, Event]] = []
    records: dict[uuid.UUID, Record] = {}
    for row in NodeExecution.objects.filter(execution=execution).iterator(BATCH):
        pairs = [(str(pin), value) for pin, value in row.outputs]
        early = [(int(place), int(count)) for place, count in row.early]
        if row.run is not None:
            placed += events_of(row, RunKey(row.node_id, row.run), pairs, early)
        if row.seq is None:
            records[row.pk] = Record(
                id=row.pk,
                status=row.status,
                outputs=pairs,
                early=early,
                error=row.error,
                waits_for=row.waits_for,
                wake_at=row.wake_at,
                started_at=row.started_at,
                queued_at=row.queued_at,
            )
    placed.sort(key=lambda event: event[0])
    last = placed[-1][0] if placed else 0
    return History(events=[event for _, event in placed], records=records, last_seq=last)


def events_of(
    row: NodeExecution, key: RunKey, pairs: list[tuple[str, JSON]], early: list[tuple[int, int]]
) -> list[tuple[int, Event]]:
    """Return the events of a row, each with its number in the order of the execution."""
    events: list[tuple[int, Event]] = []
    passed = 0
    for place, count in early:
        events.append((place, RunEmitted(key, pairs[passed:count])))
        passed = count
    if row.seq is not None:
        error = row.error if row.status == Status.FAILED else ""
        events.append((row.seq, RunEnded(key, pairs[passed:], error)))
    return events
