"""Tool results as the model and watching clients see them: large parts cut, files referenced, secrets removed."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

from accounts.models import User
from boundary import taint
from tools.base import ToolResult
from tools.context import ToolContext
from tools.errors import ToolOutcome
from workspace import limits
from workspace.json_encoding import plain
from workspace.preview import Keeper, KeepsNothing, WorkspaceKeeper, show


def process(result: ToolResult, context: ToolContext, sources: taint.Sources = ()) -> dict[str, Any]:
    """Return the result for the model: files replaced by references, long parts cut with a note, secrets removed."""
    name = f"{result.type}-{hashlib.sha256(context.key.encode()).hexdigest()[:16]}"
    shown: dict[str, Any] = show(fields_of(result), keeper_for(context, sources), name=name)
    message = result.message[: limits.OUTPUT_START_CHARACTERS]
    return {"type": result.type, "message": message} | shown | {"session_id": str(context.session_id)}


def process_later(result: ToolResult, session_id: uuid.UUID) -> dict[str, Any]:
    """Do the same for a call that was answered before its result was ready; long parts are cut and not kept."""
    shown: dict[str, Any] = show(fields_of(result), KeepsNothing(), name=result.type)
    return shown | {"session_id": str(session_id)}


def fields_of(result: ToolResult) -> dict[str, Any]:
    fields: dict[str, Any] = plain(result)
    return fields if result.next_step else {name: fields[name] for name in fields if name != "next_step"}


def preview(output: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """Return a preliminary output for watching clients; nothing of it is kept."""
    shown: dict[str, Any] = show(output, KeepsNothing(), name="preview")
    return shown | {"session_id": str(context.session_id)}


def reply(error: ToolOutcome, session_id: uuid.UUID) -> dict[str, Any]:
    """Return what the model gets instead of a result."""
    shown: dict[str, Any] = show(error.reply(), KeepsNothing(), name="error")
    return (
        {"type": error.type, "message": error.message[: limits.OUTPUT_START_CHARACTERS]}
        | shown
        | {"session_id": str(session_id)}
    )


def show_value(value: Any, keeper: Keeper, *, name: str) -> Any:
    """Treat any JSON value from outside like a tool's result."""
    return show(value, keeper, name=name)


def keeper_for(context: ToolContext, sources: taint.Sources = ()) -> Keeper:
    return keeper_of(context.user_id, context.session_id, taint.merge(context.outside_sources, sources))


def keeper_of(user_id: int | None, session_id: uuid.UUID, sources: taint.Sources = ()) -> Keeper:
    """Return the store for large parts. It needs only the user's id, so small results read no row."""
    if user_id is None:
        return KeepsNothing()
    return WorkspaceKeeper(User(pk=user_id), session_id, sources)
