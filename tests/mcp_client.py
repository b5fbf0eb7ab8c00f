"""A small MCP client over plain HTTP, for what official clients do not let a test say, and the official one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

MODERN = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
NAMED_BY = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}


class RawClient:
    """Sends requests of the revision 2026-07-28 and returns what came, notifications included."""

    def __init__(self, url: str, key: str, capabilities: Mapping[str, Any] | None = None) -> None:
        self.http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"},
            timeout=120,
        )
        self.capabilities = dict(capabilities or {})
        self.notifications: list[dict[str, Any]] = []
        self.count = 0

    def post(self, method: str, params: Mapping[str, Any] | None = None, **headers: str) -> httpx.Response:
        """Send one request as it should be, except for what `headers` changes."""
        self.count += 1
        body = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": self.framed(params)}
        return self.http.post("/mcp", json=body, headers=self.headers(method, params or {}) | headers)

    def framed(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        given = dict(params or {})
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        }
        return given | {"_meta": meta | given.get("_meta", {})}

    def headers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        found = {"Mcp-Protocol-Version": MODERN, "Mcp-Method": method}
        name = params.get(NAMED_BY.get(method, "taskId"))
        return found | ({"Mcp-Name": name} if isinstance(name, str) else {})

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the result; fails on an error."""
        found = self.message(self.post(method, params))
        assert "result" in found, found
        result: dict[str, Any] = found["result"]
        return result

    def error(self, method: str, params: Mapping[str, Any] | None = None, **headers: Any) -> dict[str, Any]:
        """Return the error, with the status of HTTP; fails on a result."""
        response = self.post(method, params, **headers)
        found = self.message(response)
        assert "error" in found, found
        return {"status": response.status_code, **found["error"]}

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": dict(arguments or {}), **more})

    def message(self, response: httpx.Response) -> dict[str, Any]:
        """Return the response to a request; notifications before it are kept."""
        if not response.headers["content-type"].startswith("text/event-stream"):
            found: dict[str, Any] = response.json()
            return found
        lines = [line for line in response.text.split("\n") if line.startswith("data: ")]
        messages = [json.loads(line.removeprefix("data: ")) for line in lines]
        self.notifications += [message for message in messages if "method" in message]
        return next(message for message in messages if "method" not in message)


@asynccontextmanager
async def official(url: str, key: str, *, mode: str, **options: Any) -> AsyncIterator[Any]:
    """Connect the official Python client; `mode` is legacy for one that begins with a handshake."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=120) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode, **options) as client:
            yield client
