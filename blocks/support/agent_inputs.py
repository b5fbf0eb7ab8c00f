"""Shared code of the agent input blocks, which pass on a named input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from blocks.base import Block, BlockType, Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Text, pin

LEGACY_KEYS = ("secret", "placeholder_values", "limit_to_placeholder_values")


class AgentInputFields(BlockInputs):
    """The pins of every agent input; each block narrows `value`."""

    name: Text = pin(description="Name of the input.")
    value: JSON = pin(None, description="The value.", advanced=True)
    title: Text | None = pin(None, description="Label in the input form.", advanced=True)
    description: Text | None = pin(None, description="Help text in the input form.", advanced=True)
    advanced: Boolean = pin(False, description="Show it with the advanced inputs.", advanced=True)


Fields = TypeVar("Fields", bound=AgentInputFields)


class HasValue(Protocol):
    """Inputs that have a value."""

    @property
    def value(self) -> Any: ...


def pass_value(inputs: HasValue) -> Emissions:
    """Emit the value if it is set."""
    if inputs.value is not None:
        yield "result", inputs.value


def agent_input(
    *,
    id: str,
    name: str,
    outputs: type[BlockOutputs],
    examples: Sequence[Example],
    **facts: Any,
) -> Callable[[Callable[[Fields, BlockContext], Emissions]], Block]:
    """Declare an agent input block."""
    defaults: dict[str, Any] = {
        "type": BlockType.INPUT,
        "static_output": True,
        "error_pin": False,
        "runs_alone": False,
        "ignored_inputs": LEGACY_KEYS,
    }
    return block(
        id=id,
        name=name,
        category=Category.INPUT,
        outputs=outputs,
        examples=examples,
        **(defaults | facts),
    )
