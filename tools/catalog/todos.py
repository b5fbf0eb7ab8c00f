"""update_todo_list: the steps of a longer task, which the model ticks off as it goes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tools import limits
from tools.base import Effect, Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.models import TodoList


class Todo(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    text: str = Field(min_length=1, max_length=limits.MAX_TODO_CHARACTERS)
    status: Literal["pending", "in_progress", "done"] = "pending"


class Args(ToolArgs):
    items: list[Todo] = Field(
        max_length=limits.MAX_TODOS, description="The whole list; it replaces the last one."
    )


class TodosUpdated(ToolResult):
    type: Literal["todo_list"] = "todo_list"
    items: list[dict[str, Any]]
    done: int


@tool(effect=Effect.IDEMPOTENT, reads=Reads.NOTHING, holds=False)
def update_todo_list(args: Args, context: ToolContext) -> TodosUpdated:
    """Keep a to-do list for a task of three or more steps. The user sees it: update it as each step begins and ends."""
    items = [item.model_dump() for item in args.items]
    done = sum(item.status == "done" for item in args.items)

    def save() -> None:
        TodoList.objects.update_or_create(session_id=context.session_id, defaults={"items": items})

    context.with_result(save)
    return TodosUpdated(message=f"{done} of {len(items)} done.", items=items, done=done)
