"""Agent Executor: another agent as a block."""

from __future__ import annotations

from executions.blocks.base import (
    BlockType,
    Category,
    DynamicInputs,
    Effects,
    Emissions,
    Leaves,
    block,
    under_its_key,
)
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example, World
from executions.blocks.families.schemas import fit_values
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Integer, Object, Text, pin, provided_pin
from executions.ports import SubAgentRun


class Inputs(BlockInputs):
    user_id: Text = provided_pin("", description="Not used: the agent runs for the user of this run.")
    graph_id: Text = pin(description="The agent.")
    graph_version: Integer = pin(description="Its version.")
    agent_name: Text | None = pin(None, description="Its name, for people.", advanced=True)
    inputs: Object = provided_pin({}, description="Its inputs, gathered from the pins named in input_schema.")
    input_schema: Object = pin(description="Its input schema.")
    output_schema: Object = pin(description="Its output schema.")
    nodes_input_masks: Object | None = pin(
        None, description="Inputs of single nodes to replace.", advanced=True, hidden=True
    )


class Outputs(BlockOutputs):
    pass


def is_child_output(pin_name: str, inputs: Inputs) -> bool:
    """Whether the child's output schema names the pin."""
    properties = inputs.output_schema.get("properties")
    return isinstance(properties, dict) and pin_name in properties


NODE = {
    "user_id": "someone",
    "graph_id": "b1",
    "graph_version": 2,
    "input_schema": {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]},
    "output_schema": {"type": "object", "properties": {"Results!": {}}},
}
EXAMPLES = [
    Example(
        inputs=NODE | {"topic": "cats"},
        outputs=[("Results!", "one"), ("Results!", "two")],
        note="inputs and outputs of the child are pins of the node",
        world=World(child_outputs=[("Results!", "one"), ("unlisted", 1), ("Results!", "two")]),
    ),
    Example(inputs=NODE | {"inputs": {"topic": 5}}, note="a child that fails ends without outputs"),
    Example(inputs=NODE, error="'topic' is a required property"),
    Example(inputs=NODE | {"graph_id": "missing", "topic": "x"}, error="no such agent"),
    Example(inputs=NODE | {"topic": "cats", "colour": "red"}, error="has no input 'colour'"),
]


@block(
    id="e189baac-8c20-45a1-94a7-55177ea42565",
    name="Agent Executor",
    category=Category.AGENT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.AGENT,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=Leaves.NOTHING,
    repeatable=under_its_key,
    repeats=("*",),
    resumable=True,  # a second attempt follows the same run of the other agent
    error_pin=False,
    runs_alone=False,
    time_cap_seconds=None,
    dynamic_inputs=DynamicInputs(schema_pin="input_schema", gathered_on="inputs"),
    dynamic_outputs=is_child_output,
)
def agent_executor(inputs: Inputs, context: BlockContext) -> Emissions:
    """Runs another agent and emits each of its outputs as it appears; stopping this run stops the other."""
    run = SubAgentRun(
        agent_id=inputs.graph_id,
        version=inputs.graph_version,
        inputs=fit_values(inputs.inputs, inputs.input_schema),
        input_masks=inputs.nodes_input_masks,
        key=context.idempotency_key,
    )
    value: JSON
    for name, value in context.ports.agents.run(run, context.cancel):
        if is_child_output(name, inputs):
            yield name, value
