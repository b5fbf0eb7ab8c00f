"""Fixing: what can be mended is, each repair is told, a sound graph is left alone, and once is enough."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from blocks.registry import get_registry
from executions.agents.pins import PinError, pins_of
from executions.agents.repair import fix_graph
from executions.agents.validation import MEANINGS, Code, validate
from executions.graph import Graph, parse_graph
from tests.executions.agents.graphs import documents
from tests.executions.agents.samples import (
    EXPORTS,
    adder,
    agent,
    block_id,
    link,
    newsroom,
    node,
    old_discord_template,
)
from tests.executions.agents.test_validation import BAD
from tests.tiers import examples

MENDED_AT_ALL_TIMES = {
    Code.MISSING_ID,
    Code.BAD_ID,
    Code.DUPLICATE_ID,
    Code.DANGLING_LINK,
    Code.OLD_NAME,
    Code.STRAY_CREDENTIALS,
    Code.NOT_STATIC,
    Code.DUPLICATE_LINK,
    Code.LINK_WITHOUT_ID,
    Code.NO_POSITION,
}


def codes(graph: Graph) -> set[Code]:
    report = validate(graph)
    return {one.code for one in (*report.errors, *report.warnings)}


def fix(document: dict[str, Any]) -> tuple[Graph, list[Code]]:
    graph, fixes = fix_graph(parse_graph(document))
    assert all(one.message for one in fixes)
    return graph, [one.code for one in fixes]


@pytest.mark.parametrize("name", ["win-back email", "research crew", "newsroom", "adder"])
def test_a_sound_graph_is_left_alone(name: str) -> None:
    graph = parse_graph(EXPORTS[name]())
    assert fix_graph(graph) == (graph, ())


@pytest.mark.parametrize("name", BAD)
def test_what_a_code_promises_to_mend_is_mended(name: str) -> None:
    document, expected = BAD[name]
    graph, _ = fix(document)
    told = {code for code, _, _ in expected}
    assert not (told & MENDED_AT_ALL_TIMES & codes(graph))
    assert {code for code in MENDED_AT_ALL_TIMES if not MEANINGS[code].fixed} == set()


@settings(max_examples=examples(50))
@given(document=documents())
def test_mending_twice_is_mending_once(document: Any) -> None:
    once, _ = fix_graph(parse_graph(document))
    assert fix_graph(once) == (once, ())


@settings(max_examples=examples(50))
@given(document=documents())
def test_mending_makes_nothing_worse_and_leaves_alone_what_nothing_is_said_about(document: Any) -> None:
    graph = parse_graph(document)
    mended, fixes = fix_graph(graph)
    report = validate(graph)
    if not report.errors and not report.warnings:
        assert (mended, fixes) == (graph, ())
    assert not (MENDED_AT_ALL_TIMES & codes(mended))
    assert (mended == graph) == (not fixes)


def test_a_node_that_gets_a_new_id_keeps_its_links() -> None:
    document = adder()
    document["nodes"][1]["id"] = long = "x" * 300
    for one in document["links"]:
        one |= {key: long for key in ("source_id", "sink_id") if one[key] == "add"}
    graph, done = fix(document)
    assert done == [Code.BAD_ID]
    assert codes(graph) == set()
    assert [one.sink_name for one in graph.links_into(graph.nodes[1].id)] == ["a"]


def test_of_two_nodes_with_one_id_the_first_keeps_it_and_the_links() -> None:
    document = adder()
    document["nodes"].append(node("add", "Word Character Count", text="hello"))
    document["nodes"][-1]["metadata"] = {"position": {"x": -1.0, "y": -1.0}}
    graph, done = fix(document)
    assert done == [Code.DUPLICATE_ID]
    assert graph.nodes[1].id == "add"
    assert graph.links_from(graph.nodes[3].id) == ()
    assert codes(graph) == set()


def test_a_block_called_by_its_name_gets_its_id() -> None:
    document = adder()
    document["nodes"][1]["block_id"] = "calculator"
    graph, done = fix(document)
    assert done == [Code.UNKNOWN_BLOCK]
    assert graph.nodes[1].block_id == block_id("Calculator")


def test_misspelled_pins_are_mended_where_one_is_clearly_meant() -> None:
    document = adder(links=[link("in.Result", "add.A", is_static=True), link("add.reslt", "out.vlaue")])
    graph, done = fix(document)
    assert done == [Code.UNKNOWN_PIN] * 4
    assert [(one.source_name, one.sink_name) for one in graph.links] == [("result", "a"), ("result", "value")]


def test_a_pin_that_could_be_several_is_left_for_a_person() -> None:
    nodes = [node("c", "Condition", value1=1, operator="==", value2=1), node("o", "Agent Output", name="x")]
    graph, done = fix(agent(nodes, [link("c.output", "o.value")]))
    assert done == []
    assert Code.UNKNOWN_PIN in codes(graph)


def test_old_names_become_todays_on_links_and_values() -> None:
    graph, done = fix(old_discord_template())
    assert done.count(Code.OLD_NAME) == 3
    joined = [one.sink_name for one in graph.links_into("join")]
    assert joined == ["input_$_0", "input_$_1"]
    date = graph.node("time")
    assert date is not None
    assert date.input_default == {"trigger": "go", "offset": 0, "format_type_#_format": "%Y-%m-%d"}


def test_a_value_under_todays_name_wins_over_one_under_the_old() -> None:
    nodes = [node("d", "Agent Dropdown Input", name="x", options=["a"], placeholder_values=["b"])]
    graph, done = fix(agent(nodes))
    assert done == [Code.OLD_NAME]
    assert graph.nodes[0].input_default == {"name": "x", "options": ["a"]}


def test_a_misspelled_value_goes_to_its_pin_only_when_it_fits() -> None:
    right = node("a", "Word Character Count", Text="hello")
    wrong = node("b", "Calculator", operation="Add", a=1, b=2, round_results="sometimes")
    graph, done = fix(agent([right, wrong]))
    assert done == [Code.UNKNOWN_INPUT]
    assert graph.nodes[0].input_default == {"text": "hello"}
    assert "round_results" in graph.nodes[1].input_default


def test_a_choice_spelled_differently_is_mended() -> None:
    graph, done = fix(agent([node("a", "Calculator", operation="add", a=1, b=2)]))
    assert done == [Code.WRONG_TYPE]
    assert graph.nodes[0].input_default["operation"] == "Add"


def test_inputs_and_outputs_without_a_name_get_one_each() -> None:
    nodes = [
        node("a", "Agent Input"),
        node("b", "Agent Input", title="Topic"),
        node("c", "Agent Input"),
        node("d", "Agent Output"),
    ]
    graph, done = fix(agent(nodes))
    assert done == [Code.MISSING_INPUT] * 4
    assert [one.input_default["name"] for one in graph.nodes] == ["input", "Topic", "input 1", "output"]


def test_a_trigger_that_only_has_to_be_there_is_filled_in() -> None:
    graph, done = fix(agent([node("t", "Get Current Time")]))
    assert done == [Code.MISSING_INPUT]
    assert validate(graph).errors == ()


def test_a_converter_is_put_where_types_can_never_fit() -> None:
    document, _ = BAD["a number for an object"]
    graph, done = fix(document)
    assert done == [Code.TYPE_MISMATCH]
    between = graph.nodes[-1]
    assert (between.block_id, between.input_default) == (
        block_id("Universal Type Converter"),
        {"type": "dictionary"},
    )
    assert [one.sink_id for one in graph.links_from(between.id)] == ["d"]
    assert codes(graph) == set()


def test_stray_keys_go_and_references_stay() -> None:
    nodes = [
        node(
            "a",
            "AI Text Generator",
            prompt="x",
            api_key="sk-1",
            credentials={"id": "c", "provider": "openai"},
        ),
        node("b", "Calculator", operation="Add", a=1, b=2, credentials={"id": "c"}),
    ]
    graph, done = fix(agent(nodes))
    assert done == [Code.STRAY_CREDENTIALS] * 2
    assert graph.nodes[0].input_default == {"prompt": "x", "credentials": {"id": "c", "provider": "openai"}}
    assert "credentials" not in graph.nodes[1].input_default


def test_nodes_without_a_place_are_laid_out_along_the_flow() -> None:
    document = adder()
    for one in document["nodes"]:
        one["metadata"] = {}
    graph, done = fix(document)
    assert done == [Code.NO_POSITION]
    across = [one.metadata["position"]["x"] for one in graph.nodes]
    assert across == sorted(set(across))


def test_sub_graphs_are_mended_too_and_named() -> None:
    document = newsroom()
    document["sub_graphs"][0]["links"][0]["is_static"] = False
    graph, fixes = fix_graph(parse_graph(document))
    assert [(one.code, one.sub_agent) for one in fixes] == [(Code.NOT_STATIC, "Writer")]
    assert codes(graph) == set()


def test_pins_found_are_pins_the_block_takes() -> None:
    """The names a repair may choose are names validation accepts, for every block."""
    for block in get_registry():
        bare = parse_graph({"nodes": [{"id": "x", "block_id": block.id}]}).nodes[0]
        pins = pins_of(bare, block)
        for name in pins.input_names():
            assert pins.find_input(name).pin == name
        for name in pins.output_names():
            assert pins.find_output(name).pin == name
        with pytest.raises(PinError):
            pins.find_input("no such pin")
