"""Graphs made by chance: of real blocks and made-up ones, real pins and wrong ones, with and without sub-agents."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from blocks.registry import get_registry
from tests.executions.agents.samples import block_id

BLOCKS = [block.id for block in get_registry()]
FAVOURITES = [
    block_id(name)
    for name in (
        "Agent Input",
        "Agent Output",
        "Calculator",
        "Combine Texts",
        "Agent Executor",
        "Orchestrator",
        "Note",
    )
]
PINS = sorted({name for block in get_registry() for name in (*block.inputs_by_name, *block.outputs_by_name)})
ODD_PINS = [
    "",
    "Result",
    "values_#_k",
    "input_$_0",
    "input_$_x",
    "input1",
    "tools",
    "tools_^_x_~_a",
    "User's Email",
]

texts = st.text(max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-1e12, 1e12) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
pins = st.sampled_from([*PINS, *ODD_PINS]) | texts
node_ids = st.sampled_from(["a", "b", "c", "d", "e"])
block_ids = (
    st.sampled_from(FAVOURITES) | st.sampled_from(BLOCKS) | st.sampled_from(["", "Calculator", "nope"])
)
positions = st.fixed_dictionaries({"x": st.integers(-3, 3), "y": st.integers(-3, 3)})
metadata: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.fixed_dictionaries(
    {"position": positions | st.none() | texts}
)
names = st.sampled_from(["x", "y", "Results!", "User's Topic"])
schemas = st.builds(
    lambda names: {"type": "object", "properties": {name: {} for name in names}, "required": names},
    st.lists(names, max_size=2, unique=True),
)
specials = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "graph_id": st.sampled_from(["g1", "g2", "gone"]),
        "graph_version": st.integers(1, 3),
        "input_schema": schemas,
        "output_schema": schemas,
        "operation": st.sampled_from(["Add", "add", "Conquer"]),
        "credentials": st.sampled_from([{"id": "c"}, {"api_key": "k"}, None]),
        "api_key": st.just("sk-0123456789abcdefghijklmnop"),
    },
)
nodes = st.builds(
    lambda node_id, block, given, special, extra, placed: {
        "id": node_id,
        "block_id": block,
        "input_default": {**given, **special},
        "metadata": placed,
        **extra,
    },
    node_ids | st.just(""),
    block_ids,
    st.dictionaries(pins, values, max_size=3),
    specials,
    st.dictionaries(st.sampled_from(["webhook_id", "note", "input_links"]), values, max_size=1),
    metadata,
)
links = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["l1", "l2", "l3", ""]),
        "source_id": node_ids,
        "source_name": pins,
        "sink_id": node_ids,
        "sink_name": pins,
        "is_static": st.booleans(),
    }
)


def graphs(ids: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "id": ids,
            "version": st.integers(1, 3),
            "name": texts,
            "description": texts,
            "nodes": st.lists(nodes, max_size=5),
            "links": st.lists(links, max_size=6),
        },
        optional={"unknown": values},
    )


def documents() -> st.SearchStrategy[dict[str, Any]]:
    """Agent JSON with up to two sub-agents."""
    subs = st.lists(graphs(st.sampled_from(["g1", "g2", ""])), max_size=2)
    root = graphs(st.sampled_from(["root", "g1", ""]))
    return st.builds(lambda document, subs: {**document, "sub_graphs": subs}, root, subs)
