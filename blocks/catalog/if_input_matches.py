"""If Input Matches: branch on equality with a value."""

from blocks.base import Category, Emissions, block
from blocks.coercion import coerce, json_type
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, pin
from blocks.support.equality import same


class Inputs(BlockInputs):
    input: JSON = pin(description="The value to check.")
    value: JSON = pin(description="The value to compare with.")
    yes_value: JSON = pin(None, description="Emitted if they are equal.", advanced=True)
    no_value: JSON = pin(None, description="Emitted if they differ.", advanced=True)


class Outputs(BlockOutputs):
    result: Boolean
    yes_output: JSON
    no_output: JSON


EXAMPLES = [
    Example(
        inputs={"input": "red", "value": "red", "yes_value": "stop", "no_value": "go"},
        outputs=[("result", True), ("yes_output", "stop")],
    ),
    Example(
        inputs={"input": 10, "value": "10"},
        outputs=[("result", True), ("yes_output", None)],
        note="the value is converted to the input's type; unset values are emitted as null",
    ),
    Example(inputs={"input": True, "value": "no"}, outputs=[("result", False), ("no_output", None)]),
    Example(
        inputs={"input": [1, 2], "value": "[1,2]", "yes_value": 1},
        outputs=[("result", True), ("yes_output", 1)],
    ),
    Example(inputs={"input": 10, "value": "ten"}, outputs=[("result", False), ("no_output", None)]),
    Example(inputs={"input": 10}, error="needs the input 'value'"),
]


@block(
    id="6dbbc4b3-ca6c-42b6-b508-da52d23e13f2",
    name="If Input Matches",
    category=Category.LOGIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def if_input_matches(inputs: Inputs, context: BlockContext) -> Emissions:
    """Check whether the input equals a value, and emit one of two values."""
    matches = same(inputs.input, coerce(inputs.value, {"type": json_type(inputs.input)}))
    yield "result", matches
    if matches:
        yield "yes_output", inputs.yes_value
    else:
        yield "no_output", inputs.no_value
