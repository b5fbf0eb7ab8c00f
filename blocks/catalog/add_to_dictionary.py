"""Add To Dictionary: add entries to a copy of a dictionary."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Object, Text, pin


class Inputs(BlockInputs):
    dictionary: Object = pin({}, description="The dictionary to add to.")
    key: Text = pin("", description="The key to set.")
    value: JSON = pin(None, description="Its value.")
    entries: Object = pin({}, description="More entries to set.", advanced=True)


class Outputs(BlockOutputs):
    updated_dictionary: Object


EXAMPLES = [
    Example(
        inputs={"dictionary": {"a": 1}, "key": "b", "value": 2},
        outputs=[("updated_dictionary", {"a": 1, "b": 2})],
    ),
    Example(
        inputs={"key": "a", "value": 1, "entries": {"a": 9, "c": 3}},
        outputs=[("updated_dictionary", {"a": 9, "c": 3})],
        note="entries take precedence",
    ),
    Example(
        inputs={"key": "", "value": 1},
        outputs=[("updated_dictionary", {})],
        note="without a key nothing is added",
    ),
    Example(inputs={"dictionary": "not JSON"}, error="expects object, not the text 'not JSON'"),
]


@block(
    id="31d1064e-7446-4693-a7d4-65e5ca1180d1",
    name="Add To Dictionary",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def add_to_dictionary(inputs: Inputs, context: BlockContext) -> Emissions:
    """Add one key and further entries to a copy of a dictionary."""
    added = {inputs.key: inputs.value} if inputs.key and inputs.value is not None else {}
    yield "updated_dictionary", inputs.dictionary | added | inputs.entries
