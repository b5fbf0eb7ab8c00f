"""Retrieve Information: get a value stored by an earlier run."""

from typing import Literal

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example, World
from blocks.pins import MISSING
from blocks.ports import StoreScope
from blocks.schema import JSON, BlockInputs, BlockOutputs, Text, pin


class Inputs(BlockInputs):
    key: Text = pin(description="Name of the value.")
    scope: Literal["within_agent", "across_agents"] = pin(
        "within_agent", description="For this agent only, or for all your agents.", advanced=True
    )
    default_value: JSON = pin(None, description="Returned if nothing is stored.", advanced=True)


class Outputs(BlockOutputs):
    value: JSON


EXAMPLES = [
    Example(inputs={"key": "count"}, outputs=[("value", 3)], world=World(stored={"within_agent/count": 3})),
    Example(
        inputs={"key": "count", "scope": "across_agents", "default_value": 0},
        outputs=[("value", 0)],
        note="the scopes are separate",
        world=World(stored={"within_agent/count": 3}),
    ),
    Example(inputs={"key": "count"}, outputs=[("value", None)]),
    Example(inputs={"default_value": 0}, error="needs the input 'key'"),
]


@block(
    id="d8710fc9-6e29-481e-a7d5-165eb16f8471",
    name="Retrieve Information",
    category=Category.DATA,
    outputs=Outputs,
    examples=EXAMPLES,
    nondeterministic=True,
    reads_outside=True,
    static_output=True,
)
def retrieve_information(inputs: Inputs, context: BlockContext) -> Emissions:
    """Return the value stored under a name, or a default if there is none."""
    stored = context.ports.store.get(StoreScope(inputs.scope), inputs.key)
    yield "value", inputs.default_value if stored is MISSING else stored
