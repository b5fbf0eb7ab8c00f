"""Tools of the site that a client may call by itself: finding agents, blocks and files, and fetching executions."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from doors.callers import Caller
from doors.mcp import repeats, results, rows
from doors.mcp.agents import RUN_SCHEMA
from doors.mcp.errors import BadArguments, BadParams
from doors.mcp.outcomes import StartedWork, ToolAnswer, data_answer, text_answer
from doors.mcp.providers import McpCall, McpTool, Provider
from durable.database import in_transaction
from durable.stop_signal import StopSignal
from executions.models import Execution
from tools import arguments, output, preconditions, registry, schema
from tools.base import Effect, Reads, Tool
from tools.context import ToolContext, WatchedExecution
from tools.errors import ToolOutcome
from tools.permissions import Permissions

NO_SESSION = uuid.UUID(int=0)  # a call of a client belongs to no conversation
OFFERED = (
    "find_library_agent",
    "find_agent",
    "find_block",
    "list_workspace_files",
    "read_workspace_file",
    "write_workspace_file",
    "delete_workspace_file",
)
DESTROYS = frozenset(
    {"delete_workspace_file"}
)  # its effect is written with its result, so it is declared pure
GET_EXECUTION = "get_execution"


class SiteToolProvider(Provider):
    """Offers the tools that make sense outside a conversation."""

    def tools(self, caller: Caller) -> Iterable[McpTool]:
        known = registry.current()
        if caller.may_use_tool(GET_EXECUTION):
            yield FETCH
        for name in OFFERED:
            tool = known.get(name)
            if tool is not None and tool.available() and caller.may_use_tool(name):
                yield tool_of(tool)


def tool_of(tool: Tool) -> McpTool:
    return McpTool(
        name=tool.name,
        description=tool.description,
        input_schema=schema.parameters(tool.args),
        annotations=hints_of(tool),
        call=lambda call: run(call, tool),
    )


def hints_of(tool: Tool) -> dict[str, bool]:
    """Return the hints that follow from the effect of a tool and from what it reads."""
    destroys = tool.name in DESTROYS
    return {
        "readOnlyHint": tool.effect is Effect.PURE and not destroys,
        "destructiveHint": tool.effect is Effect.FOREIGN or destroys,
        "idempotentHint": tool.effect in (Effect.PURE, Effect.IDEMPOTENT),
        "openWorldHint": tool.effect is Effect.FOREIGN or tool.reads is Reads.ALWAYS,
    }


def run(call: McpCall, tool: Tool) -> ToolAnswer:
    """Call the tool's function for the caller; what it refuses is an answer that the model can act on."""
    channel = DirectChannel()
    context = context_of(call, tool, channel)
    try:
        args = arguments.validate(tool, dict(call.arguments))
        preconditions.check(tool, context)
        found = tool(args, context)
        saved(channel)
    except ToolOutcome as error:
        return data_answer(without_session(output.reply(error, NO_SESSION)), is_error=True)
    return data_answer(without_session(output.process(found, context)))


def without_session(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in ("session_id", "next_step")}


def context_of(call: McpCall, tool: Tool, channel: DirectChannel) -> ToolContext:
    """Return the context of a call outside a conversation; its key makes a repeated write the same write."""
    return ToolContext(
        user_id=call.caller.user.pk,
        session_id=NO_SESSION,
        turn_id=NO_SESSION,
        step=0,
        call_id=str(call.exchange.id)[:64],
        key=f"mcp:{repeats.identify(call, tool.name).digest}",
        permissions=Permissions.parse(call.caller.permissions()),
        cancelled=StopSignal(),
        deadline=time.monotonic() + tool.cap_seconds,
        channel=channel,
    )


class DirectChannel:
    """Takes the reports of a tool that nobody watches, and does at its end what belongs to its result."""

    def __init__(self) -> None:
        self.works: list[Callable[[], object]] = []

    def preliminary(self, output: dict[str, Any]) -> None:
        """Nobody sees it."""

    def watched(self, execution: WatchedExecution) -> None:
        """Nobody sees it."""

    def with_result(self, work: Callable[[], object]) -> None:
        self.works.append(work)

    @contextlib.contextmanager
    def waiting(self, job_id: uuid.UUID | None) -> Iterator[None]:
        yield

    def read_outside(self, sources: Iterable[str]) -> None:
        """The client judges what it reads by itself."""


@in_transaction
def saved(channel: DirectChannel) -> None:
    for work in channel.works:
        work()


# --- executions -----------------------------------------------------------------------------------


def fetch(call: McpCall) -> StartedWork | ToolAnswer:
    """Return an execution of the caller, or wait for it."""
    name = call.arguments.get("execution_id")
    wait = call.arguments.get("wait", False)
    if not isinstance(name, str) or not isinstance(wait, bool):
        raise BadArguments("`execution_id` must be a text, and `wait` true or false.")
    try:
        row = rows.find(call.caller, f"{rows.EXECUTION}{uuid.UUID(name).hex}")
    except (ValueError, BadParams):
        return text_answer("There is no such execution, or it is not yours.", is_error=True)
    assert isinstance(row, Execution)
    return StartedWork(row=row) if wait else results.of_execution(row)


FETCH = McpTool(
    name=GET_EXECUTION,
    title="Get an execution",
    description="See one run of an agent: its status, and its outputs when it has ended; can wait for its end.",
    input_schema={
        "type": "object",
        "properties": {
            "execution_id": {"type": "string"},
            "wait": {"type": "boolean", "default": False, "description": "Wait until it has ended."},
        },
        "required": ["execution_id"],
    },
    output_schema={
        "type": "object",
        "properties": RUN_SCHEMA | {"outputs": {"type": "object", "description": "The agent's outputs."}},
        "required": ["execution_id", "status"],
    },
    annotations={
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
    call=fetch,
)
