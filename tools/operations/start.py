"""Start an operation for a tool call."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from durable.ids import new_id
from durable.publisher import poke
from tools import limits
from tools.base import Tool
from tools.context import ToolContext
from tools.models import Operation, ToolCall
from tools.operations.lifecycle import notify_changed

STARTED_TYPE = "operation_started"  # to the model, when it starts
PENDING_TYPE = "operation_pending"  # to those who look while it runs
PENDING = "pending"
ACCEPTED = "accepted"  # an outside service has the work
STARTED = "Tell the user so and end your answer; you are called again with the result."
CLIENT_CALL = "client_tool_call"
CLIENT_CALLS = uuid.UUID("5f2b6c1e-6f0f-4c39-9d0f-6a2f3f6f2f41")  # namespace of the ids of such operations
WITH_CLIENT = "Waits for the result of the program that asked."
IN_PROGRESS = "Tell the user; you are called again with the result."


@dataclass(frozen=True, kw_only=True)
class OperationStart:
    """The answer to the model, what is saved in the same transaction, and what happens after the commit."""

    answer: dict[str, Any]
    save: Callable[[], object]
    after_commit: Callable[[], object]


def start(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> OperationStart:
    """Return a new operation for this call, or the running one that was started with the same arguments."""
    fingerprint = fingerprint_of(arguments)
    if tool.for_client:
        return hand_to_client(tool, arguments, context)
    live = Operation.live().filter(
        session_id=context.session_id, tool_name=tool.name, fingerprint=fingerprint, for_client=False
    )
    running = live.first()
    if running is not None:
        text = f"{tool.name} is already working on exactly this."
        return OperationStart(
            answer=about(running, "operation_in_progress", text, IN_PROGRESS),
            save=nothing,
            after_commit=nothing,
        )
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

    def announce() -> None:
        poke(Operation, operation.pk)
        notify_changed(operation)

    return OperationStart(
        answer=about(
            operation, STARTED_TYPE, f"{tool.name} was started and runs in the background.", STARTED
        ),
        save=lambda: operation.save(force_insert=True),
        after_commit=announce,
    )


def hand_to_client(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> OperationStart:
    """Return an operation that waits, without a worker, for the result that the client's next request brings."""
    seconds = limits.MAX_CLIENT_ANSWER_SECONDS
    operation = Operation(
        id=client_operation_id(context.key),
        status=Operation.WAITING,
        key=context.key,
        session_id=context.session_id,
        turn_id=context.turn_id,
        step=context.step,
        user_id=context.user_id,
        call_id=context.call_id,
        tool_name=tool.name,
        arguments=arguments,
        fingerprint=fingerprint_of(arguments),
        permissions=context.permissions.as_json(),
        outside_sources=list(context.outside_sources),
        for_client=True,
        begun=True,
        external=True,
        message=WITH_CLIENT,
        run_at=Operation.clock.after(seconds),
        answer_due_at=Operation.clock.after(seconds),
    )
    return OperationStart(
        answer=about(operation, CLIENT_CALL, f"{tool.name} is run by the program that asked.", ""),
        save=lambda: operation.save(force_insert=True),
        after_commit=lambda: notify_changed(operation),
    )


def client_operation_id(key: str) -> uuid.UUID:
    """Return the id of the operation for a client's tool call, known from the call's key before it is written."""
    return uuid.uuid5(CLIENT_CALLS, key)


def shown_later(call: ToolCall) -> Any:
    """Return the call's result for those who read the conversation later: an operation that runs is pending.

    The model hears `operation_started` in the turn that started it. The row has that result until the operation
    ends, which replaces it.
    """
    result = call.result
    if (
        not isinstance(result, dict)
        or result.get("type") != STARTED_TYPE
        or result.get("tool_name") != call.name
    ):
        return result
    message = f"{call.name} is still running in the background."
    return result | {"type": PENDING_TYPE, "message": message, "next_step": IN_PROGRESS}


def fingerprint_of(arguments: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


def about(operation: Operation, kind: str, message: str, next_step: str) -> dict[str, Any]:
    """Return the call's result until the operation has ended."""
    return {
        "type": kind,
        "status": ACCEPTED if operation.external else PENDING,
        "message": message,
        "next_step": next_step,
        "session_id": str(operation.session_id),
        "operation_id": str(operation.pk),
        "task_id": str(operation.task_id),
        "tool_name": operation.tool_name,
    }


def nothing() -> None:
    """Do nothing."""
