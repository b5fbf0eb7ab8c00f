"""Validation: every problem at once, with its place; and nothing said about what is fine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from executions import limits
from executions.agents.validation import MEANINGS, Code, Scope, validate
from executions.graph import parse_graph
from tests.executions.agents.samples import (
    adder,
    agent,
    executor,
    link,
    newsroom,
    node,
    old_discord_template,
    research_crew,
    sub_agent,
    win_back_email,
)

Document = dict[str, Any]


def problems(document: Document) -> list[tuple[str, str, str]]:
    report = validate(parse_graph(document))
    return [(str(one.code), one.node_id, one.pin) for one in (*report.errors, *report.warnings)]


@pytest.mark.parametrize("make", [adder, win_back_email, research_crew, newsroom])
def test_nothing_is_said_about_an_agent_that_is_fine(make: Callable[[], Document]) -> None:
    assert problems(make()) == []


def with_node(block: str, /, **values: Any) -> Document:
    """The adder, with a node beside it."""
    document = adder()
    document["nodes"].append(node("extra", block, 99.0, 99.0, **values))
    return document


def with_link(source: str, sink: str, **options: Any) -> Document:
    document = adder()
    document["links"].append(link(source, sink, **options))
    return document


BAD: dict[str, tuple[Document, list[tuple[str, str, str]]]] = {
    "an empty graph": (agent([]), [("nothing_to_run", "", "")]),
    "only a note": (agent([node("n", "Note", text="hello")]), [("nothing_to_run", "", "")]),
    "an unknown block": (
        agent([*adder()["nodes"], {"id": "x", "block_id": "nope", "metadata": {}}], adder()["links"]),
        [("unknown_block", "x", "")],
    ),
    "no block at all": (
        agent([*adder()["nodes"], {"id": "x", "metadata": {}}], adder()["links"]),
        [("unknown_block", "x", "")],
    ),
    "two nodes with one id": (
        agent([*adder()["nodes"], node("add", "Note", text="hi")], adder()["links"]),
        [("duplicate_id", "add", "")],
    ),
    "a node without an id": (
        agent([*adder()["nodes"], node("", "Note", text="hi")], adder()["links"]),
        [("missing_id", "", "")],
    ),
    "an id that is too long": (
        agent([*adder()["nodes"], node("x" * 201, "Note", text="hi")], adder()["links"]),
        [("bad_id", "x" * 100, "")],
    ),
    "two links with one id": (
        adder(
            links=[
                link("in.result", "add.a", is_static=True) | {"id": "l"},
                link("add.result", "out.value") | {"id": "l"},
            ]
        ),
        [("duplicate_id", "", "")],
    ),
    "a required input left out": (
        with_node("Text Split", text="a b"),
        [("missing_input", "extra", "delimiter")],
    ),
    "a required input that is null": (
        with_node("Text Split", text="a b", delimiter=None),
        [("missing_input", "extra", "delimiter")],
    ),
    "a value of the wrong type": (
        with_node("Get List Item", list=["a"], index="first"),
        [("wrong_type", "extra", "index")],
    ),
    "a value that is none of the choices": (
        with_node("Calculator", operation="Conquer", a=1, b=2),
        [("wrong_type", "extra", "operation")],
    ),
    "a nested value with a wrong index": (
        with_node("Combine Texts", **{"input_$_x": "a", "input": ["b"]}),
        [("bad_nested_pin", "extra", "input_$_x")],
    ),
    "a link from nowhere": (with_link("ghost.result", "add.b"), [("dangling_link", "add", "result")]),
    "a link to nowhere": (with_link("add.result", "ghost.b"), [("dangling_link", "add", "b")]),
    "an unknown output": (with_link("add.answer", "out.title"), [("unknown_pin", "add", "answer")]),
    "an unknown input": (with_link("add.result", "out.values"), [("unknown_pin", "out", "values")]),
    "a key into a text": (
        with_link("add.result", "out.format_#_x"),
        [("bad_nested_pin", "out", "format_#_x")],
    ),
    "an index that is no number": (
        with_link("add.result", "out.value_$_x"),
        [("bad_nested_pin", "out", "value_$_x")],
    ),
    "a part of a number": (
        with_link("add.result_#_x", "out.title"),
        [("bad_nested_pin", "add", "result_#_x")],
    ),
    "a list for a number": (
        agent(
            [node("split", "Text Split", text="a b", delimiter=" "), *adder()["nodes"]],
            [*adder()["links"], link("split.texts", "add.b")],
        ),
        [("type_mismatch", "add", "b")],
    ),
    "a number for an object": (
        agent(
            [*adder()["nodes"], node("d", "Dictionary Is Empty"), node("e", "Agent Output", name="Empty")],
            [*adder()["links"], link("add.result", "d.dictionary"), link("d.is_empty", "e.value")],
        ),
        [("type_mismatch", "d", "dictionary")],
    ),
    "a circle": (
        agent(
            [
                *adder()["nodes"],
                node("p", "Calculator", operation="Add", b=1),
                node("q", "Calculator", operation="Add", b=1),
            ],
            [*adder()["links"], link("p.result", "q.a"), link("q.result", "p.a")],
        ),
        [("cannot_start", "p", "")],
    ),
    "a node that waits for itself": (
        agent(
            [*adder()["nodes"], node("p", "Calculator", operation="Add", b=1)],
            [*adder()["links"], link("p.result", "p.a")],
        ),
        [("cannot_start", "p", "")],
    ),
    "a sub-agent without an id": (
        agent([*adder()["nodes"], executor("e", "", [], ["x"])], adder()["links"]),
        [("sub_agent_without_id", "e", "graph_id")],
    ),
    "a sub-agent nobody has": (
        agent([*adder()["nodes"], executor("e", "gone", [], ["x"])], adder()["links"]),
        [("sub_agent_not_found", "e", "graph_id")],
    ),
    "a sub-agent without its input": (
        agent(
            [*adder()["nodes"], executor("e", "s", ["topic"], ["x"])],
            adder()["links"],
            sub_graphs=[sub_agent("s", ["topic"], ["x"])],
        ),
        [("sub_agent_input_missing", "e", "topic")],
    ),
    "two sub-agents that fit equally": (
        agent(
            [*adder()["nodes"], executor("e", "old", [], ["x"])],
            adder()["links"],
            sub_graphs=[sub_agent("s", [], ["x"]), sub_agent("t", [], ["x"])],
        ),
        [("sub_agent_not_found", "e", "graph_id"), ("no_input", "", ""), ("no_input", "", "")],
    ),
    "no input": (
        agent(
            [node("c", "Calculator", operation="Add", a=1, b=2), node("o", "Agent Output", name="x")],
            [link("c.result", "o.value")],
        ),
        [("no_input", "", "")],
    ),
    "no output": (
        agent([node("i", "Agent Input", name="x"), node("c", "Note", text="")]),
        [("no_output", "", "")],
    ),
    "a value under a name nobody knows": (
        with_node("Word Character Count", text="a", colour="red"),
        [("unknown_input", "extra", "colour")],
    ),
    "a pin under its old name": (
        with_node("Get Current Date", trigger="go", format="%Y"),
        [("old_name", "extra", "format")],
    ),
    "a key where none belongs": (
        with_node("AI Condition", input_value=1, condition="x", credentials={"api_key": "sk-1"}),
        [("stray_credentials", "extra", "credentials")],
    ),
    "a key in a text": (
        with_node("Word Character Count", text="use sk-abcdefghijklmnopqrstuvwxyz012345 for it"),
        [("secret_suspected", "extra", "text")],
    ),
    "a link that should be static": (
        adder(links=[link("in.result", "add.a"), link("add.result", "out.value")]),
        [("not_static", "in", "result")],
    ),
    "the same link twice": (
        adder(links=[*adder()["links"], link("add.result", "out.value") | {"id": "again"}]),
        [("duplicate_link", "out", "value")],
    ),
    "two inputs of one name": (
        with_node("Agent Input", name="Number"),
        [("duplicate_input_name", "", "Number")],
    ),
    "a link without an id": (
        adder(
            links=[link("in.result", "add.a", is_static=True) | {"id": ""}, link("add.result", "out.value")]
        ),
        [("link_without_id", "", "")],
    ),
    "a node on top of another": (
        agent(adder()["nodes"], adder()["links"])
        | {"nodes": [one | {"metadata": {"position": {"x": 1, "y": 1}}} for one in adder()["nodes"]]},
        [("no_position", "", "")],
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_graph_is_told_what_is_wrong_and_nothing_else(name: str) -> None:
    document, expected = BAD[name]
    assert problems(document) == expected


def test_every_message_says_something_and_every_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Code)
    for document, _ in BAD.values():
        report = validate(parse_graph(document))
        for one in (*report.errors, *report.warnings):
            assert len(one.message) > 20
            assert one.message.rstrip()[-1] in ".?"


def test_all_problems_of_a_graph_are_told_at_once() -> None:
    document = agent(
        [
            node("a", "Calculator", operation="Conquer", b=1),
            node("b", "Text Split", text="x"),
            {"id": "c", "block_id": "nope", "metadata": {}},
        ],
        [link("a.nothing", "b.delimiter"), link("a.result", "ghost.x")],
    )
    codes = {code for code, _, _ in problems(document)}
    assert codes >= {
        "wrong_type",
        "missing_input",
        "unknown_block",
        "unknown_pin",
        "dangling_link",
        "no_output",
    }


def test_an_unknown_pin_names_the_nearest_one() -> None:
    report = validate(parse_graph(with_link("add.reslt", "out.value")))
    assert "Did you mean 'result'?" in report.errors[0].message


def test_a_block_the_session_may_not_use_is_told() -> None:
    scope = Scope(may_use=lambda block: block.name != "Calculator")
    report = validate(parse_graph(adder()), scope)
    assert [(one.code, one.node_id) for one in report.errors] == [(Code.BLOCK_DENIED, "add")]


def test_an_unknown_block_is_named_and_the_rest_is_checked_all_the_same() -> None:
    report = validate(parse_graph(old_discord_template()))
    assert [(one.code, one.node_id) for one in report.errors] == [(Code.UNKNOWN_BLOCK, "send")]
    assert report.errors[0].message.startswith("Send Discord Message is not installed here.")
    assert {one.code for one in report.warnings} >= {Code.OLD_NAME, Code.NO_INPUT}


def test_a_circle_with_a_way_in_can_start() -> None:
    nodes = [
        node("first", "Create List", values=[1]),
        node("grow", "Add To List", entry=2),
        node("out", "Agent Output", name="List"),
    ]
    links = [
        link("first.list", "grow.list"),
        link("grow.updated_list", "grow.list"),
        link("grow.updated_list", "out.value"),
    ]
    assert problems(agent(nodes, links)) == [("no_input", "", "")]


def test_what_only_follows_a_circle_is_not_told_again() -> None:
    nodes = [node(name, "Calculator", operation="Add", b=1) for name in ("p", "q", "r", "s")]
    links = [
        link("p.result", "q.a"),
        link("q.result", "p.a"),
        link("q.result", "r.a"),
        link("r.result", "s.a"),
    ]
    stuck = [one for one in problems(agent(nodes, links)) if one[0] == "cannot_start"]
    assert stuck == [("cannot_start", "p", "")]


def test_problems_of_a_sub_agent_say_which_one_it_is() -> None:
    document = newsroom()
    document["sub_graphs"][1]["nodes"][0]["input_default"].pop("name")
    report = validate(parse_graph(document))
    told = {(one.code, one.sub_agent) for one in report.errors}
    assert (Code.MISSING_INPUT, "Researcher") in told


def test_a_sub_agents_own_inputs_and_outputs_are_pins_of_its_node() -> None:
    document = newsroom()
    document["links"].append(link("topic.result", "check.Colour", is_static=True))
    document["links"].append(link("check.sure", "out.title"))
    assert problems(document) == [("unknown_pin", "check", "Colour"), ("unknown_pin", "check", "sure")]


def test_so_many_problems_are_counted_and_not_listed() -> None:
    nodes = [{"id": str(number), "block_id": f"x{number}", "metadata": {}} for number in range(500)]
    report = validate(parse_graph(agent(nodes)))
    assert len(report.errors) == limits.MAX_AGENT_PROBLEMS + 1
    assert report.errors[-1].code is Code.MORE_PROBLEMS
    assert "300 more" in report.errors[-1].message
