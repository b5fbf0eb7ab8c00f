"""Add To List: add entries to a copy of a list."""

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, AnyList, BlockInputs, BlockOutputs, Integer, pin


class Inputs(BlockInputs):
    list: AnyList = pin([], description="The list to add to.")
    entry: JSON = pin(None, description="One entry to add.")
    entries: AnyList = pin([], description="More entries to add, before `entry`.", advanced=True)
    position: Integer | None = pin(
        None, description="Where to insert; default is the end, negative counts from the end.", advanced=True
    )


class Outputs(BlockOutputs):
    updated_list: AnyList


EXAMPLES = [
    Example(inputs={"list": [1, 2], "entry": 3}, outputs=[("updated_list", [1, 2, 3])]),
    Example(
        inputs={"list": [1, 4], "entries": [2], "entry": 3, "position": 1},
        outputs=[("updated_list", [1, 2, 3, 4])],
    ),
    Example(inputs={"list": [1, 3], "entry": 2, "position": -1}, outputs=[("updated_list", [1, 2, 3])]),
    Example(inputs={"entry": "first"}, outputs=[("updated_list", ["first"])]),
    Example(
        inputs={"list_$_0": "a", "list_$_1": "b", "entry": "c"},
        outputs=[("updated_list", ["a", "b", "c"])],
        note="links to single positions",
    ),
    Example(inputs={"list": [1], "position": "end"}, error="expects integer|null, not the text 'end'"),
]


@block(
    id="aeb08fc1-2fc1-4141-bc8e-f758f183a822",
    name="Add To List",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def add_to_list(inputs: Inputs, context: BlockContext) -> Emissions:
    """Add entries to a copy of a list. Linked back to itself, it collects values in a loop."""
    new = inputs.entries + ([] if inputs.entry is None else [inputs.entry])
    updated = inputs.list.copy()
    position = len(updated) if inputs.position is None else inputs.position
    updated[position:position] = new
    yield "updated_list", updated
