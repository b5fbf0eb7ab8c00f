"""Graphs read from agent JSON: tolerant of what is missing or unknown, clear about what is no graph."""

from __future__ import annotations

from typing import Any

import pytest

from blocks.pins import PinStep, PinStepKind
from executions.agents.errors import NotAGraph
from executions.graph import graph_to_json, parse_graph
from tests.executions.agents.samples import EXPORTS, adder, link, node


@pytest.mark.parametrize("name", EXPORTS)
def test_a_graph_read_and_written_is_the_document_that_came(name: str) -> None:
    document = EXPORTS[name]()
    graph = parse_graph(document)
    assert parse_graph(graph_to_json(graph)) == graph
    written = graph_to_json(graph)
    for key, value in document.items():
        if key != "sub_graphs":
            assert written[key] == value, key


def test_what_is_missing_is_empty() -> None:
    graph = parse_graph({"nodes": [{}]})
    assert (graph.id, graph.version, graph.is_active, graph.links) == ("", 1, True, ())
    assert (graph.nodes[0].id, graph.nodes[0].block_id, graph.nodes[0].input_default) == ("", "", {})


def test_nulls_of_old_exports_are_empty_too() -> None:
    node = {"id": "a", "block_id": "b", "input_default": None, "metadata": None}
    graph = parse_graph({"nodes": [node], "links": None, "sub_graphs": None, "description": None})
    assert graph.nodes[0].metadata == {}
    assert graph.description == ""


def test_numbers_as_ids_are_read_as_text_on_both_sides() -> None:
    joined = {"source_id": 1, "source_name": "x", "sink_id": 2, "sink_name": "y"}
    graph = parse_graph({"nodes": [{"id": 1}, {"id": 2}], "links": [joined]})
    assert [one.sink_id for one in graph.links_from("1")] == ["2"]


def test_links_that_only_the_nodes_carry_are_found() -> None:
    document = adder()
    links = document.pop("links")
    document["nodes"][0]["output_links"] = [links[0]]
    assert [one.id for one in parse_graph(document).links] == [links[0]["id"]]


def test_links_are_found_by_either_end_in_their_order() -> None:
    graph = parse_graph(adder())
    assert [one.sink_name for one in graph.links_into("add")] == ["a"]
    assert [one.source_name for one in graph.links_from("add")] == ["result"]
    assert graph.links_into("nobody") == ()
    assert graph.node("nobody") is None


def test_nested_pins_are_taken_apart_and_wrong_ones_are_left_whole() -> None:
    nodes = [node("a", "Note", text=""), node("b", "Note", text="")]
    graph = parse_graph({"nodes": nodes, "links": [link("a.result_#_status", "b.list_$_x")]})
    only = graph.links[0]
    assert (only.source.pin, only.source.steps) == ("result", (PinStep(kind=PinStepKind.KEY, key="status"),))
    assert (only.sink.pin, only.sink.steps) == ("list_$_x", ())


def test_tool_links_are_known_by_their_source_whatever_follows() -> None:
    nodes = [node("a", "Note", text=""), node("b", "Note", text="")]
    names = ["tools", "tools_^_any thing_~_x", "finished"]
    graph = parse_graph({"nodes": nodes, "links": [link(f"a.{name}", "b.text") for name in names]})
    assert [one.is_tool_link for one in graph.links] == [True, True, False]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "The agent is null"),
        ([], "The agent is a list"),
        ("text", "The agent is text"),
        (7, "The agent is a number"),
        ({}, "no list of `nodes`"),
        ({"nodes": {}}, "no list of `nodes`"),
        ({"nodes": [7]}, "nodes[0] is a number"),
        ({"nodes": [{"id": []}]}, "nodes[0].id is a list"),
        ({"nodes": [{"id": True}]}, "nodes[0].id is true or false"),
        ({"nodes": [{"id": 10**4000}]}, "nodes[0].id is a number"),
        ({"nodes": [{"input_default": [1]}]}, "nodes[0].input_default is a list"),
        ({"nodes": [{"metadata": "x"}]}, "nodes[0].metadata is text"),
        ({"nodes": [], "links": "x"}, "links is text"),
        ({"nodes": [], "links": [None]}, "links[0] is null"),
        ({"nodes": [], "links": [{"sink_name": {}}]}, "links[0].sink_name is an object"),
        ({"nodes": [], "version": "2"}, "version is text"),
        ({"nodes": [], "sub_graphs": [1]}, "sub_graphs[0] is a number"),
        ({"nodes": [], "sub_graphs": [{"nodes": 1}]}, "sub_graphs[0] has no list of `nodes`"),
    ],
)
def test_what_is_no_graph_is_refused_with_the_place_that_is_wrong(data: Any, said: str) -> None:
    with pytest.raises(NotAGraph) as refused:
        parse_graph(data)
    assert said in str(refused.value)


def test_sub_graphs_inside_sub_graphs_end_somewhere() -> None:
    document: dict[str, Any] = {"nodes": []}
    for _ in range(20):
        document = {"nodes": [], "sub_graphs": [document]}
    with pytest.raises(NotAGraph, match="nested deeper"):
        parse_graph(document)
