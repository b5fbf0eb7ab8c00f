"""Graphs in a few words: nodes by block name, links as `a.pin -> b.pin`."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from blocks.registry import BlockRegistry, blocks_of, get_registry
from executions.graph import Graph, parse_graph
from tests.testblocks import copilot_blocks


@functools.cache
def registry() -> BlockRegistry:
    """The catalogue and the blocks for tests."""
    known = get_registry()
    found = [(block, known.origin(block)) for block in known]
    own = [pair for pair in blocks_of(copilot_blocks) if pair[0] not in known]
    return BlockRegistry([*found, *own])


def agent_json(nodes: Mapping[str, Any], links: Sequence[str]) -> dict[str, Any]:
    """`{"a": ("Agent Input", {"name": "x"})}` and `["a.result -> b.value"]`; `=>` makes a static link."""
    return {
        "id": "g",
        "version": 1,
        "name": "a graph of a test",
        "nodes": [
            {"id": name, "block_id": registry().get_by_name(block).id, "input_default": values}
            for name, (block, values) in nodes.items()
        ],
        "links": [link_json(number, text) for number, text in enumerate(links)],
    }


def link_json(number: int, text: str) -> dict[str, Any]:
    is_static = "=>" in text
    source, sink = (part.strip() for part in text.split("=>" if is_static else "->"))
    source_id, source_name = source.split(".", 1)
    sink_id, sink_name = sink.split(".", 1)
    return {
        "id": f"l{number}",
        "source_id": source_id,
        "source_name": source_name,
        "sink_id": sink_id,
        "sink_name": sink_name,
        "is_static": is_static,
    }


def graph(nodes: Mapping[str, Any], links: Sequence[str]) -> Graph:
    return parse_graph(agent_json(nodes, links))
