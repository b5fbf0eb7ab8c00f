"""The Input family: a named input of the agent that passes its value on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from executions.blocks.base import Block, BlockType, Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Text, pin

LEGACY_KEYS = ("secret", "placeholder_values", "limit_to_placeholder_values")


class AgentInputFields(BlockInputs):
    """The pins every input has; each block narrows `value`."""

    name: Text = pin(description="The key in the agent's input form.")
    value: JSON = pin(None, description="What was filled in.", advanced=True)
    title: Text | None = pin(None, description="The label in the form.", advanced=True)
    description: Text | None = pin(None, description="The help text in the form.", advanced=True)
    advanced: Boolean = pin(False, description="Show it among the advanced inputs.", advanced=True)


Fields = TypeVar("Fields", bound=AgentInputFields)


class HasValue(Protocol):
    """Inputs with a value of any type."""

    @property
    def value(self) -> Any: ...


def pass_value(inputs: HasValue) -> Emissions:
    """Emit the value, or nothing when there is none: an unset input leaves what follows waiting."""
    if inputs.value is not None:
        yield "result", inputs.value


def agent_input(
    *,
    id: str,
    name: str,
    inputs: type[Fields],
    outputs: type[BlockOutputs],
    examples: Sequence[Example],
    **facts: Any,
) -> Callable[[Callable[[Fields, BlockContext], Emissions]], Block]:
    """A block of the Input family."""
    family: dict[str, Any] = {
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
        inputs=inputs,
        outputs=outputs,
        examples=examples,
        **(family | facts),
    )
