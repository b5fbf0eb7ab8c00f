"""Agent Output: a named output of the agent."""

from blocks.base import BlockType, Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Text, pin
from blocks.support.agent_inputs import LEGACY_KEYS
from blocks.templates import render_template


class Inputs(BlockInputs):
    value: JSON = pin(None, description="The value.")
    name: Text = pin(description="Name of the output.")
    title: Text | None = pin(None, description="Label for display.", advanced=True)
    description: Text | None = pin(None, description="Description of the output.", advanced=True)
    format: Text = pin(
        "", description="Template; the value is available under the output's name.", advanced=True
    )
    escape_html: Boolean = pin(False, description="Escape HTML in values of the template.", advanced=True)
    advanced: Boolean = pin(False, description="Show it with the advanced outputs.", advanced=True)


class Outputs(BlockOutputs):
    output: JSON
    name: JSON


EXAMPLES = [
    Example(inputs={"name": "answer", "value": 42}, outputs=[("output", 42), ("name", "answer")]),
    Example(
        inputs={"name": "who", "value": "Ada", "format": "Hello, {{ who }}!"},
        outputs=[("output", "Hello, Ada!")],
        note="with a template only the text is emitted",
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
        note="a template error becomes the output",
    ),
    Example(inputs={"value": 42}, error="needs the input 'name'"),
]


@block(
    id="363ae599-353e-4804-937e-b2ee3cef3da4",
    name="Agent Output",
    category=Category.OUTPUT,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.OUTPUT,
    static_output=True,
    error_pin=False,
    runs_alone=False,
    ignored_inputs=LEGACY_KEYS,
)
def agent_output(inputs: Inputs, context: BlockContext) -> Emissions:
    """Return a value as a named output of the agent, optionally formatted by a template."""
    if not inputs.format:
        yield "output", inputs.value
        yield "name", inputs.name
        return
    try:
        text = render_template(inputs.format, {inputs.name: inputs.value}, escape_html=inputs.escape_html)
    except BlockFailed as error:
        text = f"Error: {error}"
    yield "output", text
