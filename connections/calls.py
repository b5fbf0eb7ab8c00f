"""Calls of a server's tools, and the tasks that come of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connections import client, limits, param_headers
from connections.errors import ToolServerError
from connections.models import ServerTool, ToolServer
from connections.outcomes import InputWanted, Outcome, ToolTask, read_outcome, read_task

Answers = Mapping[str, Any]  # of a person, by the key of the question: {"action": …, "content": …}


def call_tool(
    tool: ServerTool,
    user_id: int | None,
    arguments: Mapping[str, Any],
    *,
    answers: Answers | None = None,
    state: str | None = None,
) -> Outcome:
    """Call a tool whose definition is approved; raises ToolServerError. `answers` and `state` continue a call."""
    schema = tool.definition.get("inputSchema")
    return call_named(tool.server, user_id, tool.name, arguments, schema=schema, answers=answers, state=state)


def call_named(
    server: ToolServer,
    user_id: int | None,
    name: str,
    arguments: Mapping[str, Any],
    *,
    schema: Any = None,
    answers: Answers | None = None,
    state: str | None = None,
) -> Outcome:
    """Call a tool of a server by its name; raises ToolServerError."""
    params: dict[str, Any] = {"name": name, "arguments": dict(arguments)}
    if answers is not None:
        params["inputResponses"] = dict(answers)
    if state is not None:
        params["requestState"] = state
    result = client.ask(
        server,
        user_id,
        "tools/call",
        params,
        headers=param_headers.headers_for(schema, arguments),
        seconds=limits.SERVER_CALL_SECONDS,
    )
    return read_outcome(result)


def get_task(server: ToolServer, user_id: int | None, task_id: str) -> Outcome:
    """Return how far a task is; raises ToolServerError, TaskFailed among them."""
    found = client.ask(server, user_id, "tasks/get", {"taskId": task_id})
    return read_task({"taskId": task_id} | found)


def answer_task(server: ToolServer, user_id: int | None, task_id: str, answers: Answers) -> None:
    """Give a task what a person answered; answers that the server has already are ignored by it."""
    client.ask(server, user_id, "tasks/update", {"taskId": task_id, "inputResponses": dict(answers)})


def cancel_task(server: ToolServer, user_id: int | None, task_id: str) -> None:
    """Ask the server to stop a task; one that cannot be reached is no reason to go on here."""
    try:
        client.ask(server, user_id, "tasks/cancel", {"taskId": task_id})
    except ToolServerError:
        return


__all__ = ["InputWanted", "ToolTask", "answer_task", "call_named", "call_tool", "cancel_task", "get_task"]
