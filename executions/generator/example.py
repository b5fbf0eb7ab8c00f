"""The example of the building guide: a small agent that runs."""

from __future__ import annotations

from blocks.registry import BlockRegistry
from executions.graph import Graph, Link, Node


def example_graph(registry: BlockRegistry) -> Graph:
    """Return an agent that takes a name and returns a greeting."""

    def node(node_id: str, block: str, x: int, **values: object) -> Node:
        block_id = registry.get_by_name(block).id
        return Node(
            id=node_id, block_id=block_id, input_default=values, metadata={"position": {"x": x, "y": 0}}
        )

    return Graph(
        name="Greeter",
        description="Greets a person by name.",
        nodes=(
            node("name", "Agent Short Text Input", 0, name="name", value="World"),
            node("greet", "Fill Text Template", 550, format="Hello {{name}}!"),
            node("greeting", "Agent Output", 1100, name="greeting"),
        ),
        links=(
            Link(
                id="l1",
                source_id="name",
                source_name="result",
                sink_id="greet",
                sink_name="values_#_name",
                is_static=True,
            ),
            Link(id="l2", source_id="greet", source_name="output", sink_id="greeting", sink_name="value"),
        ),
    )
