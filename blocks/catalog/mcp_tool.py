"""MCP Tool: call a tool of an MCP server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from blocks.base import BlockType, Category, CredentialsNeed, DynamicInputs, Effects, Emissions, Leaves, block
from blocks.coercion import parse_json
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, ExamplePage, World
from blocks.schema import JSON, BlockInputs, BlockOutputs, Credentials, Object, Text, pin
from blocks.support.credentials import find_credential_for_url
from blocks.support.schemas import fit_values
from blocks.tool_servers import connected_servers
from boundary import limits
from boundary.http import OutboundRequest, OutboundResponse

PROVIDER = "mcp"
PROTOCOL_VERSION = "2025-06-18"
ACCEPT = "application/json, text/event-stream"


class Inputs(BlockInputs):
    server_url: Text = pin(description="URL of the MCP endpoint.")
    credentials: Credentials = pin({}, description="The account to use, if the server requires one.")
    selected_tool: Text = pin("", description="Name of the tool.", advanced=True)
    tool_input_schema: Object = pin({}, description="Input schema of the tool.", advanced=True, hidden=True)
    tool_description: Text = pin("", description="Description of the tool.", advanced=True, hidden=True)
    tool_arguments: Object = pin({}, description="Arguments of the tool.", advanced=True)


class Outputs(BlockOutputs):
    result: JSON


URL = "https://mcp.example.com/mcp"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CALL = {"server_url": URL, "selected_tool": "weather", "tool_input_schema": SCHEMA}


def answers(*results: Object) -> World:
    """Return a world with a server that answers every message with the same batch."""
    batch = [{"jsonrpc": "2.0", "id": number, **result} for number, result in enumerate(results, start=1)]
    return World(pages={URL: ExamplePage(body=json.dumps(batch), media_type="application/json")})


HELLO: Object = {"result": {"protocolVersion": "2025-06-18", "capabilities": {}}}
EXAMPLES = [
    Example(
        inputs=CALL | {"city": "Rome"},
        outputs=[("result", {"degrees": 21})],
        note="the arguments of the tool are pins of the node",
        world=answers(HELLO, {"result": {"content": [{"type": "text", "text": '{"degrees": 21}'}]}}),
    ),
    Example(
        inputs=CALL | {"tool_arguments": {"city": "Atlantis"}},
        error="The tool weather failed: no such city",
        world=answers(
            HELLO, {"result": {"isError": True, "content": [{"type": "text", "text": "no such city"}]}}
        ),
    ),
    Example(
        inputs=CALL | {"city": "Rome"},
        error="returned an error: who?",
        world=answers({"error": {"message": "who?"}}),
    ),
    Example(inputs=CALL, error="'city' is a required property"),
    Example(inputs={"server_url": URL}, error="`selected_tool`"),
    Example(inputs={"server_url": " ", "selected_tool": "weather"}, error="`server_url`"),
    Example(inputs=CALL | {"city": "Rome"}, error="could not be found"),
]


@block(
    id="a0a4b1c2-d3e4-4f56-a7b8-c9d0e1f2a3b4",
    name="MCP Tool",
    category=Category.DEVELOPER_TOOLS,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.MCP_TOOL,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=Leaves.MESSAGE,
    credentials=CredentialsNeed(provider=PROVIDER, kind="oauth2", required=False),
    dynamic_inputs=DynamicInputs(schema_pin="tool_input_schema", gathered_on="tool_arguments"),
)
def mcp_tool(inputs: Inputs, context: BlockContext) -> Emissions:
    """Call a tool of an MCP server and return its result."""
    url = inputs.server_url.strip()
    if not url:
        raise BlockFailed("`server_url` is empty.")
    if not inputs.selected_tool:
        raise BlockFailed("No tool is selected. Set `selected_tool`.")
    arguments = fit_values(inputs.tool_arguments, inputs.tool_input_schema)
    context.check()
    if not inputs.credentials:  # else the person has chosen the account themselves
        known = connected_servers.call(context.user_id, url, inputs.selected_tool, arguments)
        if known is not None:
            yield "result", checked_content(inputs.selected_tool, known)
            return
    credential = find_credential_for_url(PROVIDER, inputs.credentials, url, context)
    server = McpServer(url=url, token=credential.api_key if credential else "")
    yield "result", server.call_tool(inputs.selected_tool, arguments, context)


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
        return checked_content(
            name, self._ask("tools/call", {"name": name, "arguments": arguments}, 2, context)
        )

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


def checked_content(name: str, result: Object) -> JSON:
    """Return the content of a result; raise BlockFailed if the tool reports a failure."""
    content = read_content(result)
    if result.get("isError"):
        raise BlockFailed(f"The tool {name} failed: {str(content)[:1000]}")
    return content


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
