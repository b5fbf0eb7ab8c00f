"""Flatten List: flatten nested lists."""

from blocks import limits
from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import AnyList, BlockInputs, BlockOutputs, Integer, pin


class Inputs(BlockInputs):
    nested_list: AnyList = pin(description="A list that may contain lists.")
    max_depth: Integer = pin(-1, description="Levels to flatten; -1 means all.", advanced=True)


class Outputs(BlockOutputs):
    flattened_list: AnyList
    length: Integer
    original_depth: Integer


EXAMPLES = [
    Example(
        inputs={"nested_list": [1, [2, [3]], []]},
        outputs=[("flattened_list", [1, 2, 3]), ("length", 3), ("original_depth", 3)],
    ),
    Example(
        inputs={"nested_list": [1, [2, [3]]], "max_depth": 1},
        outputs=[("flattened_list", [1, 2, [3]]), ("length", 3), ("original_depth", 3)],
    ),
    Example(
        inputs={"nested_list": []}, outputs=[("flattened_list", []), ("length", 0), ("original_depth", 1)]
    ),
    Example(inputs={"nested_list": [1], "max_depth": -2}, error="-1 or more"),
]


@block(
    id="cc45bb0f-d035-4756-96a7-fe3e36254b4d",
    name="Flatten List",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
)
def flatten_list(inputs: Inputs, context: BlockContext) -> Emissions:
    """Flatten nested lists to a given depth, and return the entries, their number and the original depth."""
    if inputs.max_depth < -1:
        raise BlockFailed("`max_depth` must be -1 or more.")
    levels = (
        limits.MAX_FLATTEN_DEPTH
        if inputs.max_depth == -1
        else min(inputs.max_depth, limits.MAX_FLATTEN_DEPTH)
    )
    flat = inputs.nested_list
    depth = measure_depth(flat)
    for _ in range(min(levels, depth - 1)):
        flat = [entry for item in flat for entry in (item if isinstance(item, list) else [item])]
    yield "flattened_list", flat
    yield "length", len(flat)
    yield "original_depth", depth


def measure_depth(nested: AnyList) -> int:
    """Return the nesting depth, measured level by level without recursion."""
    depth, level = 1, nested
    while inner := [item for item in level if isinstance(item, list)]:
        depth += 1
        if depth > limits.MAX_FLATTEN_DEPTH:
            raise BlockFailed(f"The list is nested deeper than {limits.MAX_FLATTEN_DEPTH} levels.")
        level = [entry for item in inner for entry in item]
    return depth
