"""Tools that a client of the API defines for one turn and runs itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from pydantic import ConfigDict

from llm.types import ToolSpec
from tools import limits
from tools.base import Effect, Reads, Tool, ToolArgs
from tools.context import ToolContext
from tools.errors import ToolError


class ClientToolArgs(ToolArgs):
    """Arguments of a client's tool: any object, since the client checks them itself."""

    model_config = ConfigDict(extra="allow", frozen=True)


def client_tools(specs: Iterable[ToolSpec]) -> dict[str, Tool]:
    """Return the tools that a client defined, by name; a call becomes an operation that the client completes."""
    return {spec.name: client_tool(spec) for spec in specs}


def client_tool(spec: ToolSpec) -> Tool:
    return Tool(
        name=spec.name,
        description=spec.description,
        args=ClientToolArgs,
        run=not_run_here,
        effect=Effect.IDEMPOTENT,
        reads=Reads.ALWAYS,
        holds=lambda args, context: False,
        gates=(),
        cap_seconds=limits.TOOL_SECONDS,
        long_running=True,
        available=lambda: True,
        lookup=None,
        receive=None,
        module=__name__,
        for_client=True,
    )


def not_run_here(args: ToolArgs, context: ToolContext) -> NoReturn:
    """Refuse: only the client can run its tool."""
    raise ToolError("This tool is run by the program that asked, which did not answer.", code="no_answer")
