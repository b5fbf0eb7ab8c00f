"""What the model, and everybody who watches, gets to see of a tool's result."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

from accounts.models import User
from boundary import taint
from durable import limits
from tools.base import ToolResult
from tools.context import ToolContext
from tools.errors import ToolOutcome
from workspace.keeping import WorkspaceKeeper
from workspace.plain import plain
from workspace.showing import Keeper, KeepsNothing, show


def process(result: ToolResult, context: ToolContext, sources: taint.Sources = ()) -> dict[str, Any]:
    """The result for the model: files replaced by references, long parts cut with a note, secrets blotted out."""
    name = f"{result.type}-{hashlib.sha256(context.key.encode()).hexdigest()[:16]}"
    shown: dict[str, Any] = show(plain(result), keeper_for(context, sources), name=name)
    message = result.message[: limits.OUTPUT_START_CHARACTERS]
    return {"type": result.type, "message": message} | shown | {"session_id": str(context.session_id)}


def process_later(result: ToolResult, session_id: uuid.UUID) -> dict[str, Any]:
    """The same for a call that was answered before its result was there; of what is too long nothing is kept."""
    shown: dict[str, Any] = show(plain(result), KeepsNothing(), name=result.type)
    return shown | {"session_id": str(session_id)}


def preview(output: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """A preliminary output for those who watch; nothing is kept of it."""
    shown: dict[str, Any] = show(output, KeepsNothing(), name="preview")
    return shown | {"session_id": str(context.session_id)}


def reply(error: ToolOutcome, session_id: uuid.UUID) -> dict[str, Any]:
    """What the model is told instead of a result."""
    shown: dict[str, Any] = show(error.reply(), KeepsNothing(), name="error")
    return (
        {"type": error.type, "message": error.message[: limits.OUTPUT_START_CHARACTERS]}
        | shown
        | {"session_id": str(session_id)}
    )


def show_value(value: Any, keeper: Keeper, *, name: str) -> Any:
    """Any JSON value that came from outside, treated like a tool's result."""
    return show(value, keeper, name=name)


def keeper_for(context: ToolContext, sources: taint.Sources = ()) -> Keeper:
    return keeper_of(context.user_id, context.session_id, taint.merge(context.outside_sources, sources))


def keeper_of(user_id: int | None, session_id: uuid.UUID, sources: taint.Sources = ()) -> Keeper:
    """The files of the user the call is for. Only the id is needed, so no row is read for the many small results."""
    if user_id is None:
        return KeepsNothing()
    return WorkspaceKeeper(User(pk=user_id), session_id, sources)
