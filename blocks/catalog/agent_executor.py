"""Agent Executor: run another agent."""

from blocks.base import (
    BlockType,
    Category,
    DynamicInputs,
    Effects,
    Emissions,
    Leaves,
    block,
    repeatable_by_key,
)
from blocks.context import BlockContext
from blocks.examples import Example, World
from blocks.ports import SubAgentRun
from blocks.schema import JSON, BlockInputs, BlockOutputs, Integer, Object, Text, pin
from blocks.support.schemas import fit_values


class Inputs(BlockInputs):
    user_id: Text = pin("", description="Not used: the agent runs for the current user.", provided=True)
    graph_id: Text = pin(description="Id of the agent.")
    graph_version: Integer = pin(description="Version of the agent.")
    agent_name: Text | None = pin(None, description="Name of the agent, for display.", advanced=True)
    inputs: Object = pin(
        {}, description="Inputs of the agent, collected from the pins named in input_schema.", provided=True
    )
    input_schema: Object = pin(description="Input schema of the agent.")
    output_schema: Object = pin(description="Output schema of the agent.")
    nodes_input_masks: Object | None = pin(
        None, description="Inputs of individual nodes to override.", advanced=True, hidden=True
    )


class Outputs(BlockOutputs):
    pass


def is_child_output(pin_name: str, inputs: Inputs) -> bool:
    """Return whether the pin is in the child's output schema."""
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
    Example(inputs=NODE | {"inputs": {"topic": 5}}, note="a failed child emits nothing"),
    Example(inputs=NODE, error="'topic' is a required property"),
    Example(inputs=NODE | {"graph_id": "missing", "topic": "x"}, error="no such agent"),
    Example(inputs=NODE | {"topic": "cats", "colour": "red"}, error="has no input 'colour'"),
]


@block(
    id="e189baac-8c20-45a1-94a7-55177ea42565",
    name="Agent Executor",
    category=Category.AGENT,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.AGENT,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=Leaves.NOTHING,
    repeatable=repeatable_by_key,
    repeats=("*",),
    resumable=True,  # a second attempt continues with the same run of the other agent
    error_pin=False,
    runs_alone=False,
    time_cap_seconds=None,
    dynamic_inputs=DynamicInputs(schema_pin="input_schema", gathered_on="inputs"),
    dynamic_outputs=is_child_output,
)
def agent_executor(inputs: Inputs, context: BlockContext) -> Emissions:
    """Run another agent and emit its outputs as they appear. Stopping this run stops the other."""
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
