"""check_operation_status: the status of a long-running tool call."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.errors import ModelRetry, ToolError
from tools.models import Operation, find_operation


class Args(ToolArgs):
    operation_id: str | None = Field(default=None, max_length=64)
    task_id: str | None = Field(default=None, max_length=64)


class OperationStatus(ToolResult):
    type: Literal["operation_status"] = "operation_status"
    operation_id: str
    task_id: str
    tool_name: str
    status: Literal["running", "completed", "failed", "cancelled"]
    progress: float
    result: Any = None
    error: str | None = None


@tool(reads=Reads.PERHAPS, holds=False)
def check_operation_status(args: Args, context: ToolContext) -> OperationStatus:
    """Get the status of an operation by operation_id or task_id. Do not poll: you are called again with the result."""
    if not (args.operation_id or args.task_id):
        raise ModelRetry("Give operation_id or task_id.")
    found = find_operation(operation_id=args.operation_id, task_id=args.task_id)
    if found is None or not belongs(found, context):
        raise ToolError(
            "There is no such operation.",
            code="unknown_operation",
            next_step="It may have ended long ago: look for its result in the conversation.",
        )
    context.read_outside(*found.content_sources)
    status: Any = found.status if found.is_terminal else "running"
    words = found.error or found.message
    return OperationStatus(
        message=f"{found.tool_name}: {status}" + (f". {words}" if words else "."),
        operation_id=str(found.pk),
        task_id=str(found.task_id),
        tool_name=found.tool_name,
        status=status,
        progress=found.progress,
        result=found.result if found.is_terminal else found.answer(),
        error=found.error or None,
    )


def belongs(operation: Operation, context: ToolContext) -> bool:
    """Started in this session, or by the same person."""
    if operation.session_id == context.session_id:
        return True
    return context.user_id is not None and operation.user_id == context.user_id
