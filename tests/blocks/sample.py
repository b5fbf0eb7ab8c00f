"""Blocks made up for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from blocks.base import Block, Category, Emissions, block
from blocks.context import BlockContext
from blocks.schema import (
    JSON,
    AnyList,
    BlockInputs,
    BlockOutputs,
    Boolean,
    Credentials,
    Integer,
    Number,
    Object,
    Text,
    TextMap,
    Texts,
    credentials_pin,
    pin,
)

SAMPLE_ID = "00000000-0000-4000-8000-000000000001"


class Inputs(BlockInputs):
    text: Text | None = None
    number: Number | None = None
    whole: Integer | None = pin(None, ge=0, le=10)
    flag: Boolean | None = None
    items: AnyList | None = None
    texts: Texts | None = None
    entries: Object | None = None
    words: TextMap | None = None
    either: Integer | Text | None = None
    choice: Literal["a", "b"] | None = None
    anything: JSON = None
    credentials: Credentials = credentials_pin()


class Outputs(BlockOutputs):
    out: JSON
    number: Number


def make_block(run: Callable[[Any, BlockContext], Emissions] | None = None, **facts: Any) -> Block:
    """A block that runs the given function; without one it emits nothing."""

    def nothing(inputs: Inputs, context: BlockContext) -> Emissions:
        """Nothing."""
        yield from ()

    chosen: Any = run or nothing
    chosen.__doc__ = "A block for tests."
    defaults: dict[str, Any] = {"id": SAMPLE_ID, "name": "Sample", "category": Category.BASIC, "examples": ()}
    return block(**(defaults | {"inputs": Inputs, "outputs": Outputs} | facts))(chosen)
