"""What comes of a call: a result, a task that goes on at the server, or questions to a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from connections import limits
from connections.errors import ServerMisbehaved
from durable import storable

MAX_TASK_ID_CHARACTERS = 500
MAX_STATE_CHARACTERS = 256 * 1024
MAX_QUESTIONS = 20


@dataclass(frozen=True, kw_only=True)
class CallResult:
    """The result of a tool: parts for the model, or the server's words for what went wrong."""

    content: list[dict[str, Any]]
    structured: Any = None
    is_error: bool = False


@dataclass(frozen=True, kw_only=True)
class ToolTask:
    """A task that the server goes on with; `message` is its own word on how far it is."""

    task_id: str
    poll_seconds: float = limits.TASK_POLL_SECONDS
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class ServerQuestion:
    """One question of the server to a person: a form to fill in, or a page to visit."""

    message: str
    schema: dict[str, Any] = field(default_factory=dict)
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class InputWanted:
    """The server goes on once a person has answered; `state` is given back to it unread.

    `task_id` is empty if the call itself is made again with the answers.
    """

    questions: dict[str, ServerQuestion]
    state: str | None = None
    task_id: str = ""


Outcome: TypeAlias = CallResult | ToolTask | InputWanted


def read_outcome(result: dict[str, Any]) -> Outcome:
    """Return the outcome of `tools/call`; raises ServerMisbehaved."""
    match result.get("resultType", "complete"):
        case "complete":
            return read_result(result)
        case "task":
            return read_handle(result)
        case "input_required":
            return read_questions(result)
        case other:
            raise ServerMisbehaved(f"The MCP server gave a result of the unknown kind {str(other)[:40]!r}.")


def read_task(result: dict[str, Any]) -> Outcome:
    """Return the outcome of `tasks/get`; raises ServerMisbehaved, also for a task that failed."""
    status = result.get("status")
    if status == "completed":
        found = result.get("result")
        if not isinstance(found, dict):
            raise ServerMisbehaved("The task is completed, and the MCP server gave no result.")
        return read_result(found)
    if status == "input_required":
        return read_questions(result, task_id=read_handle(result).task_id)
    if status == "working":
        return read_handle(result)
    if status == "failed":
        error = result.get("error")
        words = error.get("message") if isinstance(error, dict) else None
        raise TaskFailed(str(words or result.get("statusMessage") or "The task failed at the MCP server."))
    if status == "cancelled":
        raise TaskFailed("The task was cancelled at the MCP server.")
    raise ServerMisbehaved(f"The MCP server gave a task the unknown status {str(status)[:40]!r}.")


class TaskFailed(ServerMisbehaved):
    """The task failed at the MCP server."""

    code = "task_failed"


def read_result(result: dict[str, Any]) -> CallResult:
    parts = result.get("content")
    content = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return CallResult(
        content=content,
        structured=result.get("structuredContent"),
        is_error=result.get("isError") is True,
    )


def read_handle(result: dict[str, Any]) -> ToolTask:
    task_id = result.get("taskId")
    if not isinstance(task_id, str) or not 0 < len(task_id) <= MAX_TASK_ID_CHARACTERS or "\0" in task_id:
        raise ServerMisbehaved("The MCP server started a task without a usable id.")
    return ToolTask(
        task_id=task_id,
        poll_seconds=poll_seconds(result.get("pollIntervalMs")),
        message=storable.text(str(result.get("statusMessage") or ""), most=500),
    )


def poll_seconds(milliseconds: object) -> float:
    """Return how long to wait before the task is looked at again, within our own limits."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return limits.TASK_POLL_SECONDS
    return min(max(milliseconds / 1000, limits.MIN_TASK_POLL_SECONDS), limits.MAX_TASK_POLL_SECONDS)


def read_questions(result: dict[str, Any], *, task_id: str = "") -> InputWanted:
    wanted = result.get("inputRequests")
    state = result.get("requestState")
    if state is not None and (not isinstance(state, str) or len(state) > MAX_STATE_CHARACTERS):
        raise ServerMisbehaved("The MCP server's request state is not usable.")
    requests = wanted if isinstance(wanted, dict) else {}
    if len(requests) > MAX_QUESTIONS or (not requests and state is None):
        raise ServerMisbehaved("The MCP server wants input, and does not say which.")
    return InputWanted(
        questions={str(key)[:200]: read_question(request) for key, request in requests.items()},
        state=state,
        task_id=task_id,
    )


def read_question(request: Any) -> ServerQuestion:
    """Return a question to a person; raises ServerMisbehaved for requests that this site does not serve."""
    method = request.get("method") if isinstance(request, dict) else None
    params = request.get("params") if isinstance(request, dict) else None
    if method != "elicitation/create" or not isinstance(params, dict):
        raise ServerMisbehaved(
            f"The MCP server asks for {str(method)[:60]!r}, which this site does not offer to servers."
        )
    schema = params.get("requestedSchema")
    url = params.get("url") if params.get("mode") == "url" else ""
    return ServerQuestion(
        message=storable.text(str(params.get("message") or ""), most=2_000),
        schema=storable.nearest_json(schema) if isinstance(schema, dict) else {},
        url=storable.text(str(url or ""), most=limits.MAX_SERVER_URL_CHARACTERS),
    )
