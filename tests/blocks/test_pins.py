"""Nested pins: taking names apart, reading, writing, merging."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.errors import InputError
from blocks.pins import (
    MISSING,
    PinPath,
    PinStep,
    PinStepKind,
    merge_pins,
    parse_pin,
    read_pin,
    write_pin,
)

names = st.text(min_size=1).filter(lambda name: not any(f"_{kind}_" in name for kind in "#$@"))
# A name that ends or begins like a separator would run together with one, so it is kept apart from them.
plain_names = names.map(lambda name: name.strip("_#$@")).filter(bool)
scalars = st.none() | st.booleans() | st.integers() | st.text()
steps = st.one_of(
    st.builds(PinStep, kind=st.sampled_from([PinStepKind.KEY, PinStepKind.ATTRIBUTE]), key=plain_names),
    st.builds(lambda index: PinStep(kind=PinStepKind.INDEX, key=str(index)), st.integers(0, 5)),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_names, inner, max_size=4)
)


@given(plain_names, st.lists(steps, max_size=4))
def test_a_name_put_together_is_taken_apart_the_same(pin: str, path: list[PinStep]) -> None:
    assert parse_pin(PinPath(pin=pin, steps=tuple(path)).name) == PinPath(pin=pin, steps=tuple(path))


@given(values, st.lists(steps, max_size=4), scalars)
def test_what_was_written_is_read_back(value: Any, path: list[PinStep], new: Any) -> None:
    written = write_pin(value, path, new)
    clamped = clamp(value, path)
    assert read_pin(written, PinPath(pin="p", steps=tuple(clamped))) == new


@given(values, st.lists(steps, min_size=1, max_size=4), scalars)
def test_writing_never_changes_the_value_it_was_given(value: Any, path: list[PinStep], new: Any) -> None:
    before = repr(value)
    write_pin(value, path, new)
    assert repr(value) == before


@given(values, st.lists(steps, max_size=5))
def test_reading_any_path_of_any_value_finds_something_or_says_missing(
    value: Any, path: list[PinStep]
) -> None:
    read_pin(value, PinPath(pin="p", steps=tuple(path)))


@given(st.dictionaries(names, values, max_size=5))
def test_merging_names_that_are_not_nested_changes_nothing(given_values: dict[str, Any]) -> None:
    assert merge_pins(given_values) == given_values


@given(st.text())
def test_any_text_is_a_pin_name_or_a_clear_error(name: str) -> None:
    try:
        path = parse_pin(name)
    except InputError as error:
        assert "whole number" in str(error)
    else:
        assert path.name == name


def clamp(value: Any, path: list[PinStep]) -> list[PinStep]:
    """The path with indices past the end where `write_pin` appends."""
    clamped: list[PinStep] = []
    for step in path:
        if step.kind is PinStepKind.INDEX:
            length = len(value) if isinstance(value, list) else 0
            index = min(int(step.key), length)
            value = value[index] if index < length else None
            clamped.append(PinStep(kind=PinStepKind.INDEX, key=str(index)))
        else:
            value = value.get(step.key) if isinstance(value, dict) else None
            clamped.append(step)
    return clamped


def test_names_may_hold_spaces_and_punctuation() -> None:
    assert parse_pin("Results!") == PinPath(pin="Results!", steps=())
    assert parse_pin("values_#_User's Email").steps == (PinStep(kind=PinStepKind.KEY, key="User's Email"),)
    assert parse_pin("a_b_#_c_d_$_2_@_e f").name == "a_b_#_c_d_$_2_@_e f"


def test_a_link_carries_the_whole_output_or_a_part_of_it() -> None:
    assert read_pin({"status": 1}, parse_pin("result")) == {"status": 1}
    assert read_pin({"status": 1}, parse_pin("result_#_status")) == 1
    assert read_pin([{"a": None}], parse_pin("result_$_0_#_a")) is None


@pytest.mark.parametrize("source", ["result_#_gone", "result_$_5", "result_@_gone"])
def test_a_link_of_what_is_not_there_carries_nothing(source: str) -> None:
    assert read_pin({"status": 1}, parse_pin(source)) is MISSING


def test_parts_are_merged_over_the_whole_in_the_order_of_their_numbers() -> None:
    merged = merge_pins({"list_$_10": "k", "list_$_2": "c", "list": ["a", "b"], "other": 1})
    assert merged == {"list": ["a", "b", "c", "k"], "other": 1}


def test_a_position_that_never_comes_leaves_no_gap() -> None:
    assert merge_pins({"input_$_3": "x", "input_$_999999999": "y"}) == {"input": ["x", "y"]}


def test_nested_parts_build_nested_values() -> None:
    assert merge_pins({"a_#_b_$_0_#_c": 1, "a_#_b_$_0_#_d": 2}) == {"a": {"b": [{"c": 1, "d": 2}]}}


def test_a_known_pin_wins_over_how_its_name_looks() -> None:
    assert merge_pins({"a_#_b": 1}, frozenset({"a_#_b"})) == {"a_#_b": 1}


@pytest.mark.parametrize("name", ["list_$_x", "list_$_-1", "list_$_", "list_$_1.5", "list_$_9999999999"])
def test_an_index_that_is_no_whole_number_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="whole number"):
        merge_pins({name: 1})
