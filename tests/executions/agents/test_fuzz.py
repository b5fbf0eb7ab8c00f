"""Any JSON at all: import, validation and repairs answer or refuse with a sentence, and never crash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from executions.agents.agent_import import import_agent
from executions.agents.agent_json import read_agent_json
from executions.agents.errors import AgentError
from executions.agents.repair import fix_graph
from executions.agents.schemas import schemas_of
from executions.agents.validation import validate
from executions.graph import Graph, parse_graph
from tests.executions.agents.graphs import block_ids, documents, pins
from tests.executions.agents.samples import agent, link, node
from tests.tiers import examples

FUZZ = settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
texts = st.text(max_size=8) | st.sampled_from(["id", "nodes", "a", "\0", "\ud800"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
wild_nodes = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", "c"]) | anything,
        "block_id": block_ids | anything,
        "input_default": st.dictionaries(pins, anything, max_size=3) | anything,
        "metadata": st.fixed_dictionaries({"position": anything, "customized_name": anything}) | anything,
    },
)
wild_links = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from(["a", "b", "c"]) | pins | anything
        for name in ("id", "source_id", "sink_id", "source_name", "sink_name", "is_static")
    },
)
wild = anything | st.fixed_dictionaries(
    {"nodes": st.lists(wild_nodes | anything, max_size=4)},
    optional={
        "id": anything,
        "version": anything,
        "name": anything,
        "links": st.lists(wild_links | anything, max_size=4) | anything,
        "sub_graphs": anything | st.lists(documents(), max_size=1),
        "subgraphs": anything,
    },
)


@FUZZ
@given(data=wild)
def test_any_json_is_an_agent_or_is_refused(ada: User, data: Any) -> None:
    try:
        stored = import_agent(ada, data)
    except AgentError as refused:
        assert len(str(refused)) > 10
        return
    assert stored.report.valid == (stored.version.problems == [])


@FUZZ
@given(data=wild)
def test_any_graph_that_can_be_read_can_be_validated_and_mended(data: Any) -> None:
    try:
        graph = read_agent_json(data)
    except AgentError:
        return
    examine(graph)


def examine(graph: Graph) -> None:
    validate(graph)
    schemas_of(graph)
    mended, _ = fix_graph(graph)
    validate(mended)


def test_a_graph_of_ten_thousand_nodes_in_a_circle_is_validated_as_a_whole() -> None:
    count = 10_000
    nodes = [node(f"n{number}", "Calculator", operation="Add", b=1) for number in range(count)]
    links = [link(f"n{number}.result", f"n{(number + 1) % count}.a") for number in range(count)]
    report = validate(parse_graph(agent(nodes, links)))
    assert [str(one.code) for one in report.errors] == ["cannot_start"]
    assert "9990 more" in report.errors[0].message


def test_a_chain_of_two_thousand_nodes_is_mended() -> None:
    count = 2_000
    nodes = [node(f"n{number}", "Calculator", operation="add", b=1, a=1) for number in range(count)]
    links = [link(f"n{number}.Result", f"n{number + 1}.a") for number in range(count - 1)]
    mended, fixes = fix_graph(parse_graph(agent(nodes, links)))
    assert len(fixes) == 2 * count - 1
    assert validate(mended).errors == ()


@pytest.mark.parametrize("size", [3_000])
def test_a_node_everybody_links_to_is_no_trouble(size: int) -> None:
    nodes = [node("hub", "Create List", values=[])]
    nodes += [node(f"n{number}", "Word Character Count", text="x") for number in range(size)]
    links = [link(f"n{number}.word_count", f"hub.values_$_{number}") for number in range(size)]
    links += [link("hub.list", f"n{number}.text") for number in range(size)]
    report = validate(parse_graph(agent(nodes, links)))
    assert [str(one.code) for one in report.errors] == ["cannot_start"]
