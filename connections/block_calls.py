"""Calls of MCP servers from agents: the same rows, eras, keys and approved definitions as in chat."""

from __future__ import annotations

from typing import Any

from blocks.ports import PortError
from boundary.errors import BlockedUrl
from boundary.urls import parse_url
from connections.calls import call_named
from connections.errors import ToolServerError
from connections.models import ServerTool
from connections.outcomes import CallResult
from connections.servers import servers_of


def call_from_block(user_id: int, url: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a tool, or None if the person uses no server with this address; raises PortError."""
    try:
        address = str(parse_url(url))
    except BlockedUrl:
        return None
    server = servers_of(user_id).filter(url=address, enabled=True).first()
    if server is None:
        return None
    row = server.tools.filter(name=tool).first()
    if row is not None and row.state != ServerTool.State.APPROVED:
        raise PortError(
            f"{tool} has changed at {server}. Look at the change under Connections and approve it."
        )
    schema = row.definition.get("inputSchema") if row is not None else None
    try:
        outcome = call_named(server, user_id, tool, arguments, schema=schema)
    except ToolServerError as error:
        raise PortError(str(error)) from None
    if not isinstance(outcome, CallResult):
        raise PortError(f"{tool} of {server} goes on as a task or asks a person, which works in chat only.")
    return {
        "content": outcome.content,
        "structuredContent": outcome.structured,
        "isError": outcome.is_error,
    }
