"""find_tool and call_tool: the tools of MCP servers that are not always shown to the model."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field
from rapidfuzz import fuzz

from tools import connected_tools, limits, schema
from tools.base import Effect, Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.errors import ModelRetry, NoResults
from tools.policies import rules_for
from tools.preconditions import login_required
from tools.toolset import usable

MIN_SCORE = 50.0  # of 100
MAX_SUGGESTIONS = 20


class FindArgs(ToolArgs):
    query: str = Field(min_length=1, max_length=200, description="What the tool should do.")


class CallArgs(ToolArgs):
    name: str = Field(min_length=1, max_length=64)
    arguments: dict[str, Any] = Field(default_factory=dict, description="As its parameters say.")


class FoundTool(BaseModel):
    """A tool with everything that is needed to call it."""

    name: str
    description: str
    parameters: dict[str, Any]


class FoundTools(ToolResult):
    type: Literal["tools_found"] = "tools_found"
    tools: list[FoundTool]


@tool(gates=[login_required], reads=Reads.ALWAYS, holds=False)
def find_tool(args: FindArgs, context: ToolContext) -> FoundTools:
    """Find more tools, of the services that the user has connected. Call them with call_tool."""
    rules = rules_for(context.user_id, context.session_id)
    known = usable(connected_tools.of_person(context.user_id), context.permissions, rules)
    scored = sorted(((score(args.query, one.tool), one.tool.name, one.tool) for one in known), reverse=True)
    best = [tool for points, _, tool in scored if points >= MIN_SCORE][: limits.FOUND_IN_CHAT]
    if not best:
        names = sorted(one.tool.name for one in known)
        raise NoResults(f"No connected tool fits {args.query!r}.", suggestions=names[:MAX_SUGGESTIONS])
    specs = [schema.spec(tool) for tool in best]
    return FoundTools(
        message=f"{len(specs)} tools found.",
        next_step="Call one with call_tool(name, arguments).",
        tools=[
            FoundTool(name=spec.name, description=spec.description, parameters=dict(spec.parameters))
            for spec in specs
        ],
    )


def score(query: str, found: Any) -> float:
    words = f"{found.name.replace('_', ' ')} {found.description[:500]}".lower()
    return float(
        fuzz.token_set_ratio(query.lower(), words) * 0.5 + fuzz.partial_ratio(query.lower(), words) * 0.5
    )


@tool(gates=[login_required], effect=Effect.PURE, reads=Reads.ALWAYS, holds=False)
def call_tool(args: CallArgs, context: ToolContext) -> ToolResult:
    """Call a tool that find_tool returned."""
    raise ModelRetry("This tool is called by its own name.")  # dispatch calls the tool that is named instead
