"""Registry for calls of MCP servers that a person has connected; connections fills it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = Callable[[int, str, str, dict[str, Any]], dict[str, Any] | None]


class ConnectedServers:
    """Calls a tool at a server that the person uses: with its era, its key or sign-in, its approved definition."""

    def __init__(self) -> None:
        self._call: Call = lambda user_id, url, tool, arguments: None

    def fill(self, call: Call) -> None:
        self._call = call

    def call(self, user_id: str, url: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result of `tools/call`, or None if the person uses no server with this address.

        Raises PortError with the reason if the call failed.
        """
        return self._call(int(user_id), url, tool, arguments) if user_id.isdecimal() else None


connected_servers = ConnectedServers()
