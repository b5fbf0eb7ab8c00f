"""Agent File Input: a named input that is a file."""

from __future__ import annotations

from executions.blocks.base import Effects, Emissions, under_its_key
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example, Page, World
from executions.blocks.families.agent_inputs import AgentInputFields, agent_input
from executions.blocks.families.sources import keep_source, leaves_by_file
from executions.blocks.schema import BlockOutputs, Boolean, FileRef, Text, pin

HELLO = "data:text/plain;base64,SGVsbG8="


class Inputs(AgentInputFields):
    value: FileRef | None = pin(None, description="A URL, a data URI or a workspace reference.")
    base_64: Boolean = pin(False, description="Emit the content itself as a data URI.", advanced=True)


class Outputs(BlockOutputs):
    result: Text


EXAMPLES = [
    Example(inputs={"name": "letter", "value": HELLO}, outputs=[("result", HELLO)], note="inline in a graph"),
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
            pages={"https://example.com/hello.txt": Page(body="Hello", media_type="text/plain")},
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
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=leaves_by_file,
    repeatable=under_its_key,
)
def agent_file_input(inputs: Inputs, context: BlockContext) -> Emissions:
    """A named input of the agent: a file, given by URL, data URI or workspace reference, kept in the workspace."""
    if inputs.value:
        yield from keep_source(inputs.value, "result", context, base_64=inputs.base_64)
