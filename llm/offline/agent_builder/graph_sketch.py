"""Builds a graph: nodes by block name, links by node and pin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

COLUMN = 550


@dataclass(frozen=True, kw_only=True)
class SketchPin:
    """An output pin of a node; `static` if its value is reused."""

    node: str
    name: str
    static: bool = False


@dataclass(kw_only=True)
class Sketch:
    """A graph under construction; block names that are not in the generator's index are kept as they are."""

    blocks: Mapping[str, str]
    nodes: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    prefix: str = ""

    def add(self, block: str, values: Mapping[str, Any] | None = None, **pins: SketchPin) -> str:
        """Add a node and return its id; `pins` are links into it, `values_X_name` stands for `values_#_name`."""
        node_id = f"{self.prefix}{block.lower().replace(' ', '_')}_{len(self.nodes) + 1}"
        position = {"position": {"x": COLUMN * len(self.nodes), "y": 0}}
        self.nodes.append(
            {
                "id": node_id,
                "block_id": self.blocks.get(block, block),
                "input_default": dict(values or {}),
                "metadata": {} if self.prefix else position,
            }
        )
        for name, source in pins.items():
            self.link(source, node_id, name)
        return node_id

    def link(self, source: SketchPin, node_id: str, name: str) -> None:
        self.links.append(
            {
                "id": f"{self.prefix}link_{len(self.links) + 1}",
                "source_id": source.node,
                "source_name": source.name,
                "sink_id": node_id,
                "sink_name": name.replace("_X_", "_#_").replace("_I_", "_$_"),
                "is_static": source.static,
            }
        )

    def input(self, name: str, kind: str = "Short Text", *, value: Any = None, about: str = "") -> SketchPin:
        """Add a named input of the agent; a value makes it optional."""
        values: dict[str, Any] = {"name": name}
        if value not in (None, ""):
            values["value"] = value
        if about:
            values["description"] = about
        block = f"Agent {kind} Input" if kind else "Agent Input"
        return SketchPin(node=self.add(block, values), name="result", static=True)

    def step(
        self, block: str, output: str, values: Mapping[str, Any] | None = None, **pins: SketchPin
    ) -> SketchPin:
        """Add a node and return one of its outputs."""
        return SketchPin(node=self.add(block, values, **pins), name=output)

    def approval(self, data: SketchPin) -> str:
        """Add a node that asks a person to approve the data; return its id."""
        return self.add("Human In The Loop", {"name": "Please approve this."}, data=data)

    def output(self, name: str, value: SketchPin) -> None:
        self.add("Agent Output", {"name": name}, value=value)

    def as_json(self, *, name: str, description: str) -> dict[str, Any]:
        return {"name": name, "description": description, "nodes": self.nodes, "links": self.links}
