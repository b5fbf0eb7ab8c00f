"""Every example of every block is run as written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from blocks.base import Block
from blocks.errors import BlockError, BlockParked
from blocks.examples import Example
from blocks.registry import get_registry
from blocks.run import run_block
from tests.blocks.doubles import make_context

CASES = [(block, example) for block in get_registry() for example in block.examples]


def name_case(value: Block | Example) -> str:
    if isinstance(value, Block):
        return value.name.replace(" ", "_")
    return (value.note or value.error or "works").replace(" ", "_")[:60]


@pytest.mark.parametrize(("block", "example"), CASES, ids=name_case)
def test_example_gives_exactly_what_it_says(block: Block, example: Example) -> None:
    outputs: list[tuple[str, Any]] = []
    message = ""
    try:
        for output in run_block(block, example.inputs, make_context(example.world)):
            outputs.append(output)
    except (BlockError, BlockParked) as error:
        message = str(error)
    assert outputs == list(example.outputs), message
    assert [type(value) for _, value in outputs] == [type(value) for _, value in example.outputs]
    json.dumps(outputs, allow_nan=False)
    if example.error:
        assert example.error in message
    else:
        assert message == ""


@pytest.mark.parametrize("block", list(get_registry()), ids=name_case)
def test_block_has_an_example_that_works_and_one_that_fails(block: Block) -> None:
    assert any(example.fails for example in block.examples)
    assert any(not example.fails for example in block.examples)
