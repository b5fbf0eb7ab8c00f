"""Agent Output: a named result of the agent."""

from __future__ import annotations

from executions.blocks.base import BlockType, Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.families.agent_inputs import LEGACY_KEYS
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Text, pin
from executions.blocks.templates import render_template


class Inputs(BlockInputs):
    value: JSON = pin(None, description="The result.")
    name: Text = pin(description="The key among the agent's outputs.")
    title: Text | None = pin(None, description="The label people see.", advanced=True)
    description: Text | None = pin(None, description="What the result is.", advanced=True)
    format: Text = pin("", description="A template; the output's own name is its variable.", advanced=True)
    escape_html: Boolean = pin(False, description="Escape HTML in the template's values.", advanced=True)
    advanced: Boolean = pin(False, description="Show it among the advanced outputs.", advanced=True)


class Outputs(BlockOutputs):
    output: JSON
    name: JSON


EXAMPLES = [
    Example(inputs={"name": "answer", "value": 42}, outputs=[("output", 42), ("name", "answer")]),
    Example(
        inputs={"name": "who", "value": "Ada", "format": "Hello, {{ who }}!"},
        outputs=[("output", "Hello, Ada!")],
        note="with a template only the text comes out",
    ),
    Example(
        inputs={"name": "who", "value": "<b>", "format": "{{ who }}", "escape_html": True},
        outputs=[("output", "&lt;b&gt;")],
    ),
    Example(
        inputs={"name": "who", "value": "Ada", "format": "{{ who"},
        outputs=[
            (
                "output",
                "Error: The template cannot be rendered: unexpected end of template, expected 'end of print"
                " statement' (line 1).",
            )
        ],
        note="a wrong template is told in the output",
    ),
    Example(inputs={"value": 42}, error="needs the input 'name'"),
]


@block(
    id="363ae599-353e-4804-937e-b2ee3cef3da4",
    name="Agent Output",
    category=Category.OUTPUT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.OUTPUT,
    static_output=True,
    error_pin=False,
    runs_alone=False,
    ignored_inputs=LEGACY_KEYS,
)
def agent_output(inputs: Inputs, context: BlockContext) -> Emissions:
    """A named result of the agent, as it came or written by a template."""
    if not inputs.format:
        yield "output", inputs.value
        yield "name", inputs.name
        return
    try:
        text = render_template(inputs.format, {inputs.name: inputs.value}, escape_html=inputs.escape_html)
    except BlockFailed as error:
        text = f"Error: {error}"
    yield "output", text
