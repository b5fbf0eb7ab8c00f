"""From what is on a node to what a block runs with."""

from __future__ import annotations

from typing import Any

import pytest

from blocks.coercion import describe, parse_json
from blocks.errors import InputError, OutputError
from blocks.prepare import check_output, prepare
from blocks.registry import get_registry
from tests.blocks.sample import make_block

BLOCK = make_block()


def prepared(name: str, value: Any) -> Any:
    return getattr(prepare(BLOCK, {name: value}), name)


@pytest.mark.parametrize(
    ("pin", "value", "expected"),
    [
        ("text", 5, "5"),
        ("text", True, "true"),
        ("text", {"a": [1]}, '{"a":[1]}'),
        ("number", "3", 3),
        ("number", " -2.5e1 ", -25.0),
        ("number", True, 1),
        ("whole", "7", 7),
        ("whole", 7.9, 7),
        ("whole", "7.9", 7),
        ("flag", "Yes", True),
        ("flag", "off", False),
        ("flag", "", False),
        ("flag", 0, False),
        ("flag", 2.5, True),
        ("items", "one", ["one"]),
        ("items", "[1, 2]", [1, 2]),
        ("items", '{"a": 1}', [{"a": 1}]),
        ("items", "[broken", ["[broken"]),
        ("items", 5, [5]),
        ("items", {"a": 1}, [{"a": 1}]),
        ("items", [1, None], [1, None]),
        ("texts", [1, {"a": 1}, "x", True], ["1", '{"a":1}', "x", "true"]),
        ("texts", "[1,2]", ["1", "2"]),
        ("entries", '{"a": {"b": 1}}', {"a": {"b": 1}}),
        ("words", {"a": 1, "b": None, "c": [1]}, {"a": "1", "c": "[1]"}),
        ("either", "3", "3"),
        ("either", 3, 3),
        ("either", 3.5, 3),
        ("either", [1], "[1]"),
        ("anything", "5", "5"),
        ("anything", [None], [None]),
    ],
)
def test_values_are_coerced_to_the_type_of_the_pin(pin: str, value: Any, expected: Any) -> None:
    result = prepared(pin, value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("pin", "value", "words"),
    [
        ("number", "many", ["'number'", "number", "the text 'many'", "Enter a number"]),
        ("number", "nan", ["the text 'nan'"]),
        ("number", "1e999", ["the text '1e999'"]),
        ("number", "1_000", ["the text '1_000'"]),
        ("number", float("nan"), ["no JSON form"]),
        ("number", [1], ["the list [1]"]),
        ("whole", 11, ["less than or equal to 10"]),
        ("whole", -1, ["greater than or equal to 0"]),
        ("whole", float("inf"), ["no JSON form"]),
        ("anything", {"a": {1: 2}}, ["cannot be represented as JSON", "the key 1"]),
        ("anything", (1, 2), ["tuple has no JSON form"]),
        ("flag", "maybe", ["boolean", "Enter true or false"]),
        ("flag", [True], ["boolean"]),
        ("entries", "text", ["object", "JSON text"]),
        ("entries", "[1]", ["object"]),
        ("entries", [1], ["object"]),
        ("texts", [None], ["'texts[0]'"]),
        ("choice", "c", ["Use one of: a, b."]),
        ("number", "9" * 400, ["expects number", "…"]),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_the_pin_and_what_to_do(
    pin: str, value: Any, words: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        prepare(BLOCK, {pin: value})
    assert [problem.pin for problem in caught.value.problems] == [pin]
    for word in ["Sample", *words]:
        assert word in str(caught.value)
    assert len(str(caught.value)) < 500


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        prepare(BLOCK, {"number": "x", "flag": "y", "choice": "z"})
    assert {problem.pin for problem in caught.value.problems} == {"number", "flag", "choice"}


def test_nulls_are_dropped_so_that_null_on_a_required_pin_is_missing() -> None:
    calculator = get_registry().get_by_name("Calculator")
    with pytest.raises(InputError, match="Calculator needs the input 'b'"):
        prepare(calculator, {"operation": "Add", "a": 1, "b": None})


def test_unknown_pins_are_refused_and_the_known_ones_named() -> None:
    with pytest.raises(InputError, match=r"has no input 'colour'\. Its inputs are: text, number"):
        prepare(BLOCK, {"colour": "red"})


def test_unknown_nested_pins_are_refused_by_their_root() -> None:
    with pytest.raises(InputError, match="has no input 'colour'"):
        prepare(BLOCK, {"colour_#_hue": 1})


def test_an_unknown_pin_that_is_null_is_dropped_like_any_null() -> None:
    assert prepare(BLOCK, {"colour": None}) == prepare(BLOCK, {})


def test_a_missing_credential_is_no_input_error() -> None:
    assert prepared("credentials", None) is None


def test_the_new_name_of_a_renamed_pin_wins() -> None:
    dropdown = get_registry().get_by_name("Agent Dropdown Input")
    values = {"name": "x", "options": ["new"], "placeholder_values": ["old"]}
    assert prepare(dropdown, values).options == ["new"]  # type: ignore[attr-defined]


def test_inputs_named_by_the_nodes_own_schema_are_gathered() -> None:
    executor = get_registry().get_by_name("Agent Executor")
    node = {
        "graph_id": "g",
        "graph_version": "2",
        "input_schema": {"properties": {"User's Email": {"type": "string"}}},
        "output_schema": {},
        "inputs": {"kept": 1},
        "User's Email": "ada@example.com",
    }
    ready: Any = prepare(executor, node)
    assert ready.inputs == {"kept": 1, "User's Email": "ada@example.com"}
    assert ready.graph_version == 2


def test_the_defaults_of_two_runs_are_not_the_same_object() -> None:
    block = get_registry().get_by_name("Add To List")
    first: Any = prepare(block, {})
    second: Any = prepare(block, {})
    first.list.append(1)
    assert second.list == []


def test_an_output_must_be_declared_and_fit() -> None:
    inputs = prepare(BLOCK, {})
    check_output(BLOCK, "out", {"any": None}, inputs)
    check_output(BLOCK, "number", 5, inputs)
    with pytest.raises(OutputError, match="not one of its outputs"):
        check_output(BLOCK, "other", 1, inputs)
    with pytest.raises(OutputError, match="emitted the text 'x' on 'number', which expects number"):
        check_output(BLOCK, "number", "x", inputs)
    with pytest.raises(OutputError):
        check_output(BLOCK, "number", float("nan"), inputs)


def test_json_text_that_is_nested_too_deeply_is_told_like_any_wrong_json() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 100_000)
    assert prepared("items", "[" * 100_000) == ["[" * 100_000]


def test_characters_no_database_takes_are_replaced() -> None:
    assert prepared("anything", {"a\0": ["\ud800é", "fine"]}) == {"a\ufffd": ["\ufffdé", "fine"]}


def test_values_nested_too_deeply_are_refused() -> None:
    value: Any = []
    for _ in range(5_000):
        value = [value]
    with pytest.raises(InputError, match="nested too deeply"):
        prepare(BLOCK, {"anything": value})


def test_a_long_value_is_cut_in_messages() -> None:
    assert len(describe("x" * 10_000)) < 120
    assert len(describe(["x" * 10_000])) < 120
