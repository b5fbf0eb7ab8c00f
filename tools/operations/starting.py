"""Making an operation of a tool call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from durable.ids import new_id
from durable.poke import poke
from tools.base import Tool
from tools.context import ToolContext
from tools.models import Operation

PENDING = "pending"
ACCEPTED = "accepted"  # an outside service has the work


@dataclass(frozen=True, kw_only=True)
class Start:
    """What the model is told, what is saved with it in one transaction, and what happens after that."""

    answer: dict[str, Any]
    save: Callable[[], object]
    after_commit: Callable[[], object]


def start(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> Start:
    """A new operation for this call; where the same was asked for and still runs, only word of that one."""
    fingerprint = fingerprint_of(arguments)
    live = Operation.live().filter(
        session_id=context.session_id, tool_name=tool.name, fingerprint=fingerprint
    )
    running = live.first()
    if running is not None:
        text = f"{tool.name} is at work on exactly this already. Tell the user; the result comes by itself."
        return Start(answer=about(running, "operation_in_progress", text), save=nothing, after_commit=nothing)
    operation = Operation(
        id=new_id(),
        status=Operation.QUEUED,
        key=context.key,
        session_id=context.session_id,
        turn_id=context.turn_id,
        step=context.step,
        user_id=context.user_id,
        call_id=context.call_id,
        tool_name=tool.name,
        arguments=arguments,
        fingerprint=fingerprint,
        permissions=context.permissions.as_json(),
        outside_sources=list(context.outside_sources),
        poked_at=Operation.clock.now(),
    )
    text = (
        f"{tool.name} was started and goes on by itself. Tell the user so and end your answer; "
        "you are called again with the result."
    )

    def announce() -> None:
        poke(Operation, operation.pk)
        operation.tell_changed()

    return Start(
        answer=about(operation, "operation_started", text),
        save=lambda: operation.save(force_insert=True),
        after_commit=announce,
    )


def fingerprint_of(arguments: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


def about(operation: Operation, kind: str, message: str) -> dict[str, Any]:
    """What stands in the conversation until the operation has ended."""
    return {
        "type": kind,
        "status": ACCEPTED if operation.external else PENDING,
        "message": message,
        "session_id": str(operation.session_id),
        "operation_id": str(operation.pk),
        "task_id": str(operation.task_id),
        "tool_name": operation.tool_name,
    }


def nothing() -> None:
    """There is nothing to do."""
