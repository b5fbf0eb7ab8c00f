"""A client for one tool call to an MCP server, over Streamable HTTP and guarded requests.

The official library opens its own connections, which would bypass the guard; a call needs only three JSON-RPC messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from blocks.coercion import parse_json
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.schema import JSON, Object
from boundary import limits
from boundary.http import OutboundRequest, OutboundResponse

PROTOCOL_VERSION = "2025-06-18"
ACCEPT = "application/json, text/event-stream"


@dataclass(kw_only=True)
class McpServer:
    """One session with a server."""

    url: str
    token: str = field(default="", repr=False)
    session_id: str = ""

    def call_tool(self, name: str, arguments: Object, context: BlockContext) -> JSON:
        """Initialize, call the tool and return its result; raise BlockFailed."""
        client = {"name": "ratchet", "version": "1"}
        hello = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        self._ask("initialize", hello, 1, context)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, context)
        result = self._ask("tools/call", {"name": name, "arguments": arguments}, 2, context)
        content = read_content(result)
        if result.get("isError"):
            raise BlockFailed(f"The tool {name} failed: {str(content)[:1000]}")
        return content

    def _ask(self, method: str, params: Object, request_id: int, context: BlockContext) -> Object:
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        response = self._post(message, context)
        self.session_id = response.header("mcp-session-id") or self.session_id
        for answer in read_messages(response):
            if answer.get("id") != request_id:
                continue
            if isinstance(answer.get("error"), dict):
                raise BlockFailed(
                    f"The MCP server returned an error: {str(answer['error'].get('message', ''))[:1000]}"
                )
            if isinstance(answer.get("result"), dict):
                return dict(answer["result"])
        raise BlockFailed("The MCP server did not return a valid response.")

    def _post(self, message: Object, context: BlockContext) -> OutboundResponse:
        headers = {"Accept": ACCEPT, "MCP-Protocol-Version": PROTOCOL_VERSION}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.session_id:
            headers["Mcp-Session-Id"] = self.session_id
        request = OutboundRequest(
            url=self.url, method="POST", headers=headers, json=message, timeout=limits.MAX_FETCH_SECONDS
        )
        context.check()
        response = context.ports.http.fetch(request)
        if response.status >= 400:
            raise BlockFailed(f"The MCP server returned status {response.status}.")
        return response


def read_messages(response: OutboundResponse) -> Iterator[Object]:
    """Yield the JSON-RPC messages of a response: one JSON document or an event stream."""
    text = response.body.decode("utf-8", "replace")
    documents = read_events(text) if response.media_type == "text/event-stream" else [text]
    for document in documents:
        try:
            parsed = parse_json(document)
        except ValueError:
            continue
        yield from (
            part for part in (parsed if isinstance(parsed, list) else [parsed]) if isinstance(part, dict)
        )


def read_events(text: str) -> list[str]:
    """Return the data of each server-sent event."""
    events = text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n")
    return [
        "\n".join(line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:"))
        for event in events
    ]


def read_content(result: Object) -> JSON:
    """Return the structured content, else the parts with JSON parsed; a single part is unwrapped."""
    if isinstance(result.get("structuredContent"), dict):
        return result["structuredContent"]
    content = result.get("content")
    parts = (
        [read_part(part) for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    return parts[0] if len(parts) == 1 else parts


def read_part(part: Object) -> JSON:
    if part.get("type") != "text":
        return part
    text = str(part.get("text", ""))
    try:
        return parse_json(text)
    except ValueError:
        return text
