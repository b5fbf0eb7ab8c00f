"""Tasks and the rows behind them: a task id names a turn or an execution of the caller, and nothing else is stored."""

from __future__ import annotations

import uuid

from chat.key_budgets import execution_prefix
from chat.models import Turn
from doors.callers import Caller
from doors.mcp.errors import BadParams
from executions.models import Execution

TURN = "turn-"
EXECUTION = "execution-"
NO_TASK = "There is no such task, or it is not yours."


def task_id(row: Turn | Execution) -> str:
    return f"{TURN if isinstance(row, Turn) else EXECUTION}{row.pk.hex}"


def find(caller: Caller, name: str) -> Turn | Execution:
    """Return the caller's row by the id of its task; raise BadParams."""
    kind, _, digits = name.partition("-")
    try:
        row_id = uuid.UUID(hex=digits)
    except ValueError:
        raise BadParams(NO_TASK) from None
    row: Turn | Execution | None = None
    if f"{kind}-" == TURN:
        row = caller.owner.turns().filter(pk=row_id).first()
    elif f"{kind}-" == EXECUTION:
        row = Execution.objects.select_related("agent").filter(user=caller.user, pk=row_id).first()
    if row is None or not may_see(caller, row):
        raise BadParams(NO_TASK)
    return row


def may_see(caller: Caller, row: Turn | Execution) -> bool:
    """Return whether a key with limits may see a row: only what was started with it."""
    if not caller.key.is_limited:
        return True
    if isinstance(row, Turn):
        return row.api_key_id == caller.key.pk
    return (row.client_id or "").startswith(execution_prefix(caller.key))


def reread(row: Turn | Execution) -> Turn | Execution:
    """Return the row as it stands; raise BadParams if it was deleted."""
    if isinstance(row, Turn):
        found: Turn | Execution | None = Turn.objects.select_related("session").filter(pk=row.pk).first()
    else:
        found = Execution.objects.select_related("agent").filter(pk=row.pk).first()
    if found is None:
        raise BadParams(NO_TASK)
    return found
