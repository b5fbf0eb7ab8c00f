"""MCP Tool: call a tool of an MCP server."""

import json

from blocks.base import BlockType, Category, CredentialsNeed, DynamicInputs, Effects, Emissions, Leaves, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, ExamplePage, World
from blocks.schema import JSON, BlockInputs, BlockOutputs, Credentials, Object, Text, pin
from blocks.support.credentials import find_credential_for_url
from blocks.support.mcp import McpServer
from blocks.support.schemas import fit_values

PROVIDER = "mcp"


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
    credential = find_credential_for_url(PROVIDER, inputs.credentials, url, context)
    server = McpServer(url=url, token=credential.api_key if credential else "")
    yield "result", server.call_tool(inputs.selected_tool, arguments, context)
