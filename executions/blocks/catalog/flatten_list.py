"""Flatten List: the entries of nested lists in one list."""

from __future__ import annotations

from durable import limits
from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.schema import AnyList, BlockInputs, BlockOutputs, Integer, pin


class Inputs(BlockInputs):
    nested_list: AnyList = pin(description="A list that may hold lists.")
    max_depth: Integer = pin(-1, description="How many levels to open; -1 opens all.", advanced=True)


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
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def flatten_list(inputs: Inputs, context: BlockContext) -> Emissions:
    """Opens nested lists down to a depth and emits the entries, their number and how deep it was."""
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
    """Level by level, so that depth costs no stack."""
    depth, level = 1, nested
    while inner := [item for item in level if isinstance(item, list)]:
        depth += 1
        if depth > limits.MAX_FLATTEN_DEPTH:
            raise BlockFailed(f"The list is nested deeper than {limits.MAX_FLATTEN_DEPTH} levels.")
        level = [entry for item in inner for entry in item]
    return depth
