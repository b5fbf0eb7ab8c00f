"""Tools of MCP servers, as tools that the model can call."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import Q
from pydantic import ConfigDict

from blocks.errors import BlockFailed
from blocks.support.schemas import fit_values
from boundary.taint import source_of
from connections import calls, definitions
from connections import limits as connection_limits
from connections.errors import ServerPaused, ServerUnreachable, SignInNeeded, ToolServerError
from connections.models import ServerTool
from connections.outcomes import CallResult, InputWanted, Outcome, ToolTask
from connections.servers import servers_of
from durable.database import release
from tools import limits
from tools.base import NAME, Effect, Handle, Reads, Rule, Tool, ToolArgs
from tools.connected_results import ConnectedResult, answers_from, form_for, result_of
from tools.context import ToolContext
from tools.errors import GoesOnElsewhere, ModelRetry, ToolError

USABLE = Q(state__in=ServerTool.USABLE, server__enabled=True)
UNSENT = {"$schema", "$id"}
PREFIX = f"{definitions.PREFIX}__"


class ConnectedArgs(ToolArgs):
    """Arguments of a server's tool: checked against the schema that the server gave."""

    model_config = ConfigDict(extra="allow", frozen=True, str_strip_whitespace=False)


@dataclass(frozen=True, kw_only=True)
class ConnectedTool:
    """A tool of a server, and whether it is always shown to the model."""

    tool: Tool
    pinned: bool


def of_person(user_id: int | None) -> list[ConnectedTool]:
    """Return the tools of all servers that a person uses, by name, with one query; nothing is contacted."""
    if user_id is None:
        return []
    rows = ServerTool.objects.filter(USABLE, server__in=servers_of(user_id)).select_related("server")
    return [ConnectedTool(tool=as_tool(row), pinned=row.pinned) for row in rows.order_by("known_as")]


def find(name: str, user_id: int | None) -> Tool | None:
    """Return a server's tool by the name that the model uses; None if the person has none of that name."""
    row = find_row(name, user_id)
    return as_tool(row) if row is not None else None


def find_row(name: str, user_id: int | None) -> ServerTool | None:
    if user_id is None or not name.startswith(PREFIX) or not NAME.fullmatch(name):
        return None
    rows = ServerTool.objects.filter(USABLE, known_as=name, server__in=servers_of(user_id))
    return rows.select_related("server").order_by("server__created_at").first()


def as_tool(row: ServerTool) -> Tool:
    """Return the tool for a row. The same definition gives the same tool, so that nothing is built twice."""
    return _tool(
        row.pk, row.digest, row.trusted_effect, row.known_as, _Definition(row.definition, row.digest)
    )


class _Definition:
    """A definition that is compared by its digest."""

    def __init__(self, fields: Mapping[str, Any], digest: str) -> None:
        self.fields = fields
        self.digest = digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Definition) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@lru_cache(maxsize=1024)
def _tool(row_id: uuid.UUID, digest: str, effect: str, name: str, definition: _Definition) -> Tool:
    fields = definition.fields
    given = fields.get("inputSchema")
    shape = (
        {key: value for key, value in given.items() if key not in UNSENT} if isinstance(given, dict) else {}
    )
    what = str(fields.get("description") or fields.get("title") or fields["name"])
    trusted = Effect(effect)
    return Tool(
        name=name,
        description=what[: connection_limits.MAX_TOOL_DESCRIPTION_CHARACTERS],
        args=ConnectedArgs,
        run=lambda args, context: call(row_id, args, context),
        effect=trusted,
        reads=Reads.ALWAYS,
        holds=lambda args, context: trusted is not Effect.PURE,
        gates=(),
        cap_seconds=limits.STREAM_IDLE_SECONDS,
        long_running=False,
        available=lambda: True,
        lookup=None,
        receive=None,
        module=__name__,
        default_rule=Rule.ALLOW if trusted is Effect.PURE else Rule.ASK,
        parameters={"type": "object", "properties": {}} | shape,
        follow=lambda args, handle, context: go_on(row_id, args, handle, context),
        abandon=lambda handle, user_id: abandon(row_id, handle, user_id),
    )


# --- calls ----------------------------------------------------------------------------------------


def call(row_id: uuid.UUID, args: ToolArgs, context: ToolContext) -> ConnectedResult:
    """Call the tool at its server; raises ToolOutcome, GoesOnElsewhere for a task among them."""
    row = approved_row(row_id)
    arguments = checked(args, row)
    context.read_outside(source_of(row.server.url))
    release()
    return finish(row, ask(lambda: calls.call_tool(row, context.user_id, arguments)), context, rounds=0)


def go_on(row_id: uuid.UUID, args: ToolArgs, handle: Handle, context: ToolContext) -> ConnectedResult:
    """Look at a task, or answer the server's question, and return the result if there is one."""
    row = ServerTool.objects.select_related("server").get(pk=row_id)
    context.read_outside(source_of(row.server.url))
    data, rounds = handle.data, int(handle.data.get("round", 0))
    task_id = str(data.get("task_id") or "")
    answers = answers_from(data, handle.answer) if data.get("questions") else None
    if not task_id:
        arguments = args.model_dump()
        state = data.get("state")
        outcome = ask(
            lambda: calls.call_tool(row, context.user_id, arguments, answers=answers or {}, state=state)
        )
        return finish(row, outcome, context, rounds=rounds)
    try:
        if answers is not None:
            calls.answer_task(row.server, context.user_id, task_id, answers)
        outcome = calls.get_task(row.server, context.user_id, task_id)
    except ServerUnreachable as error:
        raise look_again(row, data, rounds, str(error)) from None
    except ToolServerError as error:
        raise ToolError(str(error), code=error.code) from None
    return finish(row, outcome, context, rounds=rounds, since=data)


def look_again(row: ServerTool, data: Mapping[str, Any], rounds: int, error: str) -> GoesOnElsewhere:
    """Return the wait after a server that does not answer: a task is not given up because of a broken line."""
    return GoesOnElsewhere(
        f"{row.server} does not answer. {error}",
        handle=dict(data) | {"round": rounds},
        seconds=connection_limits.MAX_TASK_POLL_SECONDS / 10,
    )


def finish(
    row: ServerTool,
    outcome: Outcome,
    context: ToolContext,
    *,
    rounds: int,
    since: Mapping[str, Any] | None = None,
) -> ConnectedResult:
    """Return the result of an outcome; raises GoesOnElsewhere while there is none."""
    match outcome:
        case CallResult():
            return result_of(row, outcome)
        case ToolTask():
            raise GoesOnElsewhere(
                outcome.message or f"{row.name} goes on at {row.server}.",
                handle={"task_id": outcome.task_id, "round": rounds},
                seconds=outcome.poll_seconds,
            )
        case InputWanted():
            return ask_person(row, outcome, context, rounds)


def ask_person(row: ServerTool, wanted: InputWanted, context: ToolContext, rounds: int) -> ConnectedResult:
    if context.user_id is None or rounds >= connection_limits.MAX_INPUT_ROUNDS:
        raise ToolError(f"{row.server} asks more than can be answered here.", code="input_required")
    handle: dict[str, Any] = {
        "task_id": wanted.task_id,
        "state": wanted.state,
        "round": rounds + 1,
        "looks": bool(wanted.task_id),
        "questions": {key: {"url": one.url} for key, one in wanted.questions.items()},
    }
    question = form_for(row, wanted) if wanted.questions else None
    raise GoesOnElsewhere(
        f"{row.server} asks you something." if question else f"{row.name} goes on at {row.server}.",
        handle=handle,
        seconds=connection_limits.MIN_TASK_POLL_SECONDS,
        question=question,
    )


def ask(send: Any) -> Outcome:
    """Send a call; raises ToolOutcome. Without an answer nobody knows whether it happened."""
    try:
        found: Outcome = send()
    except SignInNeeded as error:
        raise ToolError(
            str(error), code=error.code, next_step="Ask the user to sign in there, then try again."
        ) from None
    except ServerPaused as error:
        raise ToolError(str(error), code=error.code) from None
    except ServerUnreachable as error:
        raise ToolError(str(error), code=error.code, may_have_happened=True) from None
    except ToolServerError as error:
        raise ToolError(str(error), code=error.code) from None
    return found


def approved_row(row_id: uuid.UUID) -> ServerTool:
    """Return the row as it is now; raises ToolError if it was changed, removed or switched off meanwhile."""
    row = ServerTool.objects.filter(USABLE, pk=row_id).select_related("server").first()
    if row is None:
        raise ToolError(
            "This tool has changed at its server, or is switched off. A person must look at it under Connections.",
            code="tool_not_approved",
        )
    return row


def checked(args: ToolArgs, row: ServerTool) -> dict[str, Any]:
    """Return the arguments, coerced to the server's schema; raises ModelRetry."""
    schema = row.definition.get("inputSchema")
    try:
        return fit_values(args.model_dump(), schema if isinstance(schema, dict) else {})
    except BlockFailed as error:
        raise ModelRetry(f"The arguments of {row.known_as} are not valid: {error}") from None


def abandon(row_id: uuid.UUID, handle: Handle, user_id: int | None) -> None:
    """Tell the server that nobody waits for the task any more."""
    row = ServerTool.objects.filter(pk=row_id).select_related("server").first()
    task_id = str(handle.data.get("task_id") or "")
    if row is not None and task_id:
        calls.cancel_task(row.server, user_id, task_id)
