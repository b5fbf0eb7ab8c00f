"""MCP Tool: a tool of another server."""

from __future__ import annotations

import json

from executions.blocks.base import (
    BlockType,
    Category,
    CredentialsNeed,
    DynamicInputs,
    Effects,
    Emissions,
    Leaves,
    block,
)
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, Page, World
from executions.blocks.families.accounts import find_credential, server_of_url
from executions.blocks.families.mcp import McpServer
from executions.blocks.families.schemas import fit_values
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Credentials, Object, Text, pin

PROVIDER = "mcp"


class Inputs(BlockInputs):
    server_url: Text = pin(description="The server's MCP endpoint.")
    credentials: Credentials = pin({}, description="The account to use, if it needs one.")
    selected_tool: Text = pin("", description="The tool.", advanced=True)
    tool_input_schema: Object = pin({}, description="Its input schema.", advanced=True, hidden=True)
    tool_description: Text = pin("", description="What it does.", advanced=True, hidden=True)
    tool_arguments: Object = pin({}, description="Its arguments.", advanced=True)


class Outputs(BlockOutputs):
    result: JSON


URL = "https://mcp.example.com/mcp"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CALL = {"server_url": URL, "selected_tool": "weather", "tool_input_schema": SCHEMA}


def answers(*results: Object) -> World:
    """A server that answers every message with the same batch."""
    batch = [{"jsonrpc": "2.0", "id": number, **result} for number, result in enumerate(results, start=1)]
    return World(pages={URL: Page(body=json.dumps(batch), media_type="application/json")})


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
        inputs=CALL | {"city": "Rome"}, error="refused: who?", world=answers({"error": {"message": "who?"}})
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
    inputs=Inputs,
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
    """Calls one tool of an MCP server and emits what it gave."""
    url = inputs.server_url.strip()
    if not url:
        raise BlockFailed("`server_url` is empty.")
    if not inputs.selected_tool:
        raise BlockFailed("No tool is chosen. Set `selected_tool`.")
    arguments = fit_values(inputs.tool_arguments, inputs.tool_input_schema)
    server = McpServer(url=url, token=find_token(url, inputs, context))
    yield "result", server.call_tool(inputs.selected_tool, arguments, context)


def find_token(url: str, inputs: Inputs, context: BlockContext) -> str:
    server = server_of_url(url)
    credential = (
        find_credential(PROVIDER, inputs.credentials, context, destination=server) if server else None
    )
    return credential.api_key if credential else ""
