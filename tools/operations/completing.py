"""The one way an operation is completed from outside: by webhook, by stream, or by an operator."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q

from durable import jobs, limits
from tools import output
from tools.errors import UnknownOperation
from tools.models import Operation, find_operation
from workspace.showing import KeepsNothing


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What became of a delivery; `effect` is False when the operation had ended before it."""

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
) -> Completion:
    """End an operation with an outside service's answer; raises UnknownOperation.

    Once per operation, whoever delivers how often, in whatever order and over how many channels: the first answer
    stands. It may come before the tool's function has returned; its worker is fenced then.
    """
    operation = find_operation(operation_id=operation_id, task_id=task_id)
    if operation is None:
        raise UnknownOperation
    effect = not operation.is_terminal and _end(operation, success, result, error, by)
    operation.refresh_from_db()
    return Completion(operation=operation, effect=effect)


def _end(operation: Operation, success: bool, result: Any, error: str, by: str) -> bool:
    values = _completed(operation, result) if success else _failed(error)
    with transaction.atomic():
        live = Operation.objects.filter(pk=operation.pk).exclude(status__in=Operation.TERMINAL)
        if not live.update(completed_by=by, **values):
            return False
        status = Operation.COMPLETED if success else Operation.FAILED
        reason = "done" if success else "failed"
        return jobs.end_unowned(Operation, operation.pk, Q(), status=status, reason=reason)


def _completed(operation: Operation, result: Any) -> dict[str, Any]:
    """Large and secret things are treated as in any tool's result."""
    name = f"operation-{hashlib.sha256(operation.key.encode()).hexdigest()[:16]}"
    value = {"status": "completed"} if result is None else result
    keeper = output.keeper_of(operation.user_id, operation.session_id)
    return {"result": output.show_value(value, keeper, name=name), "progress": 1.0}


def _failed(error: str) -> dict[str, Any]:
    text = error or "The outside service reported a failure without saying why."
    shown = output.show_value(text[: limits.OUTPUT_START_CHARACTERS], KeepsNothing(), name="error")
    return {"error": str(shown)}
