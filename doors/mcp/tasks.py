"""Tasks: work that goes on without a connection, fetched, answered and stopped by its id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chat import turns
from chat.models import Turn
from doors.mcp import limits, protocol, questions, repeats, results, rows
from doors.mcp.errors import BadParams, CapabilityMissing
from doors.mcp.exchange import Exchange
from executions import cancellation
from executions.models import Execution

WORKING = "working"
INPUT_REQUIRED = "input_required"
COMPLETED = "completed"
FAILED = "failed"
CANCELLED = "cancelled"
OUR_FAULTS = frozenset({"worker_lost", "internal_error", "cannot_run"})  # nothing about the call itself
NEEDED: dict[str, Any] = {"extensions": {protocol.TASKS: {}}}


def handle(exchange: Exchange, row: Turn | Execution) -> dict[str, Any]:
    """Return the handle of a row that is committed."""
    if exchange.is_modern:
        return {"resultType": "task"} | head(row, WORKING if not row.is_terminal else status_of(row))
    return {"task": as_before(head(row, WORKING))}


def get(exchange: Exchange) -> dict[str, Any]:
    """Answer tasks/get: the task with its result, error or questions; a result counts as sent."""
    row = find(exchange)
    found = detailed(row)
    if row.is_terminal:
        repeats.release(row)
    if exchange.is_modern:
        return found
    return as_before(
        {name: value for name, value in found.items() if name not in ("result", "error", "inputRequests")}
    )


def detailed(row: Turn | Execution) -> dict[str, Any]:
    """Return the whole state of a task."""
    reviews = [] if row.is_terminal else questions.open_reviews(row)
    if reviews:
        asked = {"inputRequests": questions.requests_for(reviews)}
        return head(row, INPUT_REQUIRED, poll=limits.REVIEW_POLL_MILLISECONDS) | asked
    status = status_of(row)
    found = head(row, status)
    if status == FAILED:
        message = row.error or "Something went wrong on our side."
        return found | {"error": {"code": -32603, "message": message}, "statusMessage": message}
    if status == COMPLETED:
        return found | {"result": {"resultType": "complete"} | results.result_of(row).as_json()}
    return found


def status_of(row: Turn | Execution) -> str:
    """Return the status; work that failed by itself has a result that says so, and only our faults are failures."""
    if not row.is_terminal:
        return WORKING
    if row.status == type(row).CANCELLED:
        return CANCELLED
    if row.status == type(row).FAILED and row.end_reason in OUR_FAULTS:
        return FAILED
    return COMPLETED


def head(row: Turn | Execution, status: str, *, poll: int = limits.TASK_POLL_MILLISECONDS) -> dict[str, Any]:
    """Return what all states of a task have; it is kept as long as the row, so it has no time limit of its own."""
    changed = row.ended_at or row.started_at or row.queued_at
    return {
        "taskId": rows.task_id(row),
        "status": status,
        "createdAt": row.queued_at.isoformat(),
        "lastUpdatedAt": changed.isoformat(),
        "ttlMs": None,
        "pollIntervalMs": poll,
    }


def as_before(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task as the revision 2025-11-25 names its fields."""
    names = {"ttlMs": "ttl", "pollIntervalMs": "pollInterval"}
    return {names.get(name, name): value for name, value in task.items()}


def update(exchange: Exchange) -> dict[str, Any]:
    """Answer tasks/update: decide the reviews that the answers belong to."""
    row = find(exchange)
    answers = exchange.params.get("inputResponses")
    if not isinstance(answers, dict):
        raise BadParams("`inputResponses` must be an object.")
    questions.answer_all(exchange.caller, row, answers)
    return {}


def cancel(exchange: Exchange) -> dict[str, Any]:
    """Answer tasks/cancel: ask the work to stop; what has ended stays as it is."""
    row = find(exchange)
    if isinstance(row, Turn):
        turns.stop(row)
    else:
        cancellation.stop(row.pk)
    if exchange.is_modern:
        return {}
    return as_before(head(row, CANCELLED if not row.is_terminal else status_of(row)))


def find(exchange: Exchange) -> Turn | Execution:
    """Return the row of the task that a request names; raise CapabilityMissing or BadParams."""
    check_capability(exchange)
    return rows.find(exchange.caller, exchange.text("taskId"))


def check_capability(exchange: Exchange) -> None:
    if exchange.is_modern and not exchange.has_tasks:
        raise CapabilityMissing(NEEDED, f"The client must declare the extension {protocol.TASKS}.")
