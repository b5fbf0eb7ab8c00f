"""If Input Matches: is the input equal to a value?"""

from __future__ import annotations

from executions.blocks.base import Category, Emissions, block
from executions.blocks.coercion import coerce
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.families.equality import same
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, pin


class Inputs(BlockInputs):
    input: JSON = pin(description="The value to look at.")
    value: JSON = pin(description="The value it should be.")
    yes_value: JSON = pin(None, description="What to emit when it is.", advanced=True)
    no_value: JSON = pin(None, description="What to emit when it is not.", advanced=True)


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
        note="the value is cast to the input's type; unset values come out as null",
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
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def if_input_matches(inputs: Inputs, context: BlockContext) -> Emissions:
    """Tells whether the input equals a value and sends one of two values on."""
    matches = same(inputs.input, coerce(inputs.value, {"type": json_type(inputs.input)}))
    yield "result", matches
    if matches:
        yield "yes_output", inputs.yes_value
    else:
        yield "no_output", inputs.no_value


def json_type(value: JSON) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
