"""Agent File Input: a named file input of the agent."""

from blocks.base import Effects, Emissions, repeatable_by_key
from blocks.context import BlockContext
from blocks.examples import Example, ExamplePage, World
from blocks.schema import BlockOutputs, Boolean, FileRef, Text, pin
from blocks.support.agent_inputs import AgentInputFields, agent_input
from blocks.support.file_inputs import leaves_by_file, store_file

HELLO = "data:text/plain;base64,SGVsbG8="


class Inputs(AgentInputFields):
    value: FileRef | None = pin(None, description="A URL, a data URI or a workspace reference.")
    base_64: Boolean = pin(False, description="Return the content as a data URI.", advanced=True)


class Outputs(BlockOutputs):
    result: Text


EXAMPLES = [
    Example(
        inputs={"name": "letter", "value": HELLO}, outputs=[("result", HELLO)], note="inline in an agent"
    ),
    Example(
        inputs={"name": "letter", "value": HELLO},
        outputs=[("result", "workspace://file-1")],
        note="by reference from a chat",
        world=World(from_chat=True),
    ),
    Example(
        inputs={"name": "letter", "value": "https://example.com/hello.txt", "base_64": True},
        outputs=[("result", HELLO)],
        world=World(
            from_chat=True,
            pages={"https://example.com/hello.txt": ExamplePage(body="Hello", media_type="text/plain")},
        ),
    ),
    Example(inputs={"name": "letter", "value": ""}, note="an empty value emits nothing"),
    Example(inputs={"name": "letter", "value": "workspace://gone"}, error="There is no file"),
    Example(
        inputs={"name": "letter", "value": "file:///etc/passwd"},
        error="an http(s) URL, a data URI or a workspace",
    ),
]


@agent_input(
    id="95ead23f-8283-4654-aef3-10c053b74a31",
    name="Agent File Input",
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=leaves_by_file,
    repeatable=repeatable_by_key,
)
def agent_file_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """Take a file as a named input of the agent, by URL, data URI or workspace reference, and store it."""
    if inputs.value:
        yield from store_file(inputs.value, "result", context, base_64=inputs.base_64)
