"""A graph while it is drawn: nodes by block names, links by nodes and pins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

COLUMN = 550


@dataclass(frozen=True, kw_only=True)
class Pin:
    """An output of a node; static where its value is kept."""

    node: str
    name: str
    static: bool = False


@dataclass(kw_only=True)
class Sketch:
    """Draws with the blocks of the generator's index; a name that is not there stays a name."""

    blocks: Mapping[str, str]
    nodes: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    prefix: str = ""

    def add(self, block: str, values: Mapping[str, Any] | None = None, **pins: Pin) -> str:
        """A node; `pins` are links into it, `values_X_name` stands for the nested pin `values_#_name`."""
        node_id = f"{self.prefix}{block.lower().replace(' ', '_')}_{len(self.nodes) + 1}"
        place = {"position": {"x": COLUMN * len(self.nodes), "y": 0}}
        self.nodes.append(
            {
                "id": node_id,
                "block_id": self.blocks.get(block, block),
                "input_default": dict(values or {}),
                "metadata": {} if self.prefix else place,
            }
        )
        for name, source in pins.items():
            self.link(source, node_id, name)
        return node_id

    def link(self, source: Pin, node_id: str, name: str) -> None:
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

    def input(self, name: str, kind: str = "Short Text", *, value: Any = None, about: str = "") -> Pin:
        """A named input of the agent; with a value it is optional."""
        values: dict[str, Any] = {"name": name}
        if value not in (None, ""):
            values["value"] = value
        if about:
            values["description"] = about
        block = f"Agent {kind} Input" if kind else "Agent Input"
        return Pin(node=self.add(block, values), name="result", static=True)

    def step(self, block: str, output: str, values: Mapping[str, Any] | None = None, **pins: Pin) -> Pin:
        """A node and the output of it that goes on."""
        return Pin(node=self.add(block, values, **pins), name=output)

    def output(self, name: str, value: Pin) -> None:
        self.add("Agent Output", {"name": name}, value=value)

    def as_json(self, *, name: str, description: str) -> dict[str, Any]:
        return {"name": name, "description": description, "nodes": self.nodes, "links": self.links}
