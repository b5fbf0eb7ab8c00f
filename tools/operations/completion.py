"""Complete an operation from outside: by webhook, by stream, or by an operator."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q

from durable import jobs
from durable.database import after_commit, in_transaction
from durable.publisher import poke
from tools import output, toolset
from tools.base import OutsideAnswer
from tools.errors import UnknownOperation
from tools.models import Operation, find_operation
from tools.operations.lifecycle import notify_changed
from workspace import limits
from workspace.preview import KeepsNothing


@dataclass(frozen=True, kw_only=True)
class CompletionResult:
    """The effect of a completion; `effect` is False if the operation had ended before."""

    operation: Operation
    effect: bool


def complete(
    *,
    operation_id: str | uuid.UUID | None = None,
    task_id: str | uuid.UUID | None = None,
    success: bool,
    result: Any = None,
    error: str = "",
    by: str,
) -> CompletionResult:
    """Complete an operation with an outside service's answer; raises UnknownOperation.

    This ends the operation, unless its tool has `receive`: then the answer is stored, and a worker continues with it.
    Once per operation: the first answer counts, however often and over whichever channels it is delivered. It may
    arrive before the tool's function has returned; that worker is fenced then.
    """
    operation = find_operation(operation_id=operation_id, task_id=task_id)
    if operation is None:
        raise UnknownOperation
    tool = toolset.find(operation.tool_name, operation.user_id)
    receives = tool is not None and tool.receive is not None and not operation.for_client
    take = _keep if receives else _end
    answer = OutsideAnswer(success=success, result=result, error=error)
    effect = not operation.is_terminal and take(operation, answer, by)
    operation.refresh_from_db()
    return CompletionResult(operation=operation, effect=effect)


@in_transaction
def _keep(operation: Operation, answer: OutsideAnswer, by: str) -> bool:
    """Store the answer for the tool and queue the operation again. Only the first answer is stored."""
    unanswered = Operation.objects.filter(pk=operation.pk, outside_answer__isnull=True)
    kept = unanswered.filter(status__in=Operation.LIVE).update(
        outside_answer=answer.as_json(),
        completed_by=by,
        begun=False,
        status=Operation.QUEUED,
        attempt=F("attempt") + 1,
        owner="",
        lease_until=None,
        run_at=None,
        poked_at=Operation.clock.now(),
    )
    if kept:
        after_commit(_continue, operation.pk)
    return bool(kept)


def _continue(operation_id: uuid.UUID) -> None:
    poke(Operation, operation_id)
    notify_changed(Operation.objects.get(pk=operation_id))


def _end(operation: Operation, answer: OutsideAnswer, by: str) -> bool:
    values = _completed(operation, answer.result) if answer.success else _failed(answer.error)
    return _end_once(operation, values | {"completed_by": by}, success=answer.success)


@in_transaction
def _end_once(operation: Operation, values: dict[str, Any], *, success: bool) -> bool:
    live = Operation.live().filter(pk=operation.pk)
    if not live.update(**values):
        return False
    status = Operation.COMPLETED if success else Operation.FAILED
    reason = "done" if success else "failed"
    return jobs.end_unowned(Operation, operation.pk, Q(), status=status, reason=reason)


def _completed(operation: Operation, result: Any) -> dict[str, Any]:
    """Return the changes for a result, which is shown like any tool's result."""
    name = f"operation-{hashlib.sha256(operation.key.encode()).hexdigest()[:16]}"
    value = {"status": "completed"} if result is None else result
    keeper = output.keeper_of(operation.user_id, operation.session_id)
    return {"result": output.show_value(value, keeper, name=name), "progress": 1.0}


def _failed(error: str) -> dict[str, Any]:
    text = error or "The outside service reported a failure without a reason."
    shown = output.show_value(text[: limits.OUTPUT_START_CHARACTERS], KeepsNothing(), name="error")
    return {"error": str(shown)}
