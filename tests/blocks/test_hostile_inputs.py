"""Inputs made to cost much: each block answers within a budget of processor time of this process."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from jsonschema.exceptions import SchemaError

from blocks.errors import BlockFailed
from blocks.examples import World
from blocks.registry import get_registry
from blocks.run import run_block
from blocks.support.ai import find_json, find_tagged
from blocks.support.patterns import compile_pattern, expanded_size, find_first
from blocks.support.schemas import best_error, check, check_schema
from tests.blocks.doubles import make_context

BUDGET_SECONDS = 1.0
TEXTS: dict[str, str] = {
    "digits": "9" * 12_000 + "x",
    "many digits": "9" * 200_000 + "x",
    "blanks in a fence": "```" + " " * 40_000 + "`",
    "letters in a fence": "```" + "a" * 40_000 + "`",
    "backticks": "`" * 40_000 + "x`",
    "nested tags": "<a>" + ("<b>" * 150 + "</b>" * 150) * 4_200 + "</a>",
    "text between tags": "<a>" + "x<b/>" * 800_000 + "</a>",
    "open tags": "<" * 1_000_000,
    "open sets": "[" * 10_000,
    "open sets before a backslash": "[" * 9_999 + "\\",
    "digits in an open brace": "{" + "1" * 9_999,
    "open braces": "{" * 10_000,
    "open brackets of JSON": "[" * 100_000,
}
BLOCKS: dict[str, dict[str, Any]] = {
    "Condition": {"value1": None, "operator": "==", "value2": "1"},
    "Code Extraction": {"text": None},
    "XML Parser": {"input_xml": None},
    "Read Spreadsheet": {"contents": None},
    "Match Text Pattern": {"text": "a", "match": None, "data": "a"},
    "JSON Decoder": {"json_str": None},
}


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_made_to_be_slow_costs_this_process_little(name: str, kind: str) -> None:
    inputs = {pin: TEXTS[kind] if value is None else value for pin, value in BLOCKS[name].items()}
    block = get_registry().get_by_name(name)
    used = time.process_time()
    with contextlib.suppress(BlockFailed):
        list(run_block(block, inputs, make_context(World())))
    assert time.process_time() - used < BUDGET_SECONDS


def test_a_pattern_with_a_set_that_is_never_closed_is_still_measured() -> None:
    assert expanded_size("(a{100}){100}[b") > 10_000
    assert expanded_size("[]a]{9}") == 9


MANY = 100_000
ITEMS = [{"n": n} for n in range(MANY)]


@pytest.mark.usefixtures("frozen_process_ends")
def test_a_periodic_pattern_is_searched_within_the_budget() -> None:
    """The library takes cubic time for such a literal and does not look at its own time limit meanwhile."""
    text = "[True, 1, 1.0, '1', " * 1_900
    used = time.process_time()
    assert find_first(compile_pattern("a" * 1_000, case_sensitive=True, dot_all=True), text) is None
    with pytest.raises(BlockFailed, match="longer than"):
        compile_pattern("👨\u200d" * 5_000, case_sensitive=True, dot_all=True)
    assert time.process_time() - used < BUDGET_SECONDS


def test_unique_items_are_found_in_one_go() -> None:
    assert best_error(ITEMS, {"uniqueItems": True}) is None
    assert best_error([*ITEMS, {"n": 0}], {"uniqueItems": True}) is not None


@pytest.mark.usefixtures("frozen_process_ends")
def test_choices_are_compared_in_one_go() -> None:
    schema = {"items": {"enum": ITEMS}}
    assert best_error(list(reversed(ITEMS)), schema) is None
    found = best_error([{"n": -1}] * MANY, schema)
    assert found is not None and len(found.message) < 10_000


@pytest.mark.usefixtures("frozen_process_ends")
def test_a_schema_is_checked_in_one_go() -> None:
    with pytest.raises(SchemaError):
        check_schema({"required": ITEMS})
    with pytest.raises(BlockFailed):
        check({}, {"enum": [], "required": [[], *map(str, range(MANY))]})
    check_schema({"required": [str(n) for n in range(MANY)]})


@pytest.mark.parametrize(
    ("value", "choice", "same"),
    [(1, 1.0, True), (True, 1, False), (0, False, False), ("1", 1, False), (None, None, True),
     ([1, True], [1.0, True], True), ([1], [True], False), ({"a": [1]}, {"a": [1.0]}, True), ([], {}, False)],
)  # fmt: skip
def test_values_equal_each_other_as_json_schema_says(value: Any, choice: Any, same: bool) -> None:
    assert (best_error(value, {"enum": [choice]}) is None) is same
    assert (best_error([value, choice], {"uniqueItems": True}) is None) is not same


@pytest.mark.usefixtures("frozen_process_ends")
@pytest.mark.parametrize(
    "text",
    [
        "<json_output>" * MANY,
        "<json_output>" * MANY + "</json_output",
        "<json_output" * MANY + "</json_output>",
        "</json_output>" * MANY + "<json_output>",
    ],
)
def test_tags_without_an_end_are_passed_in_one_go(text: str) -> None:
    assert find_tagged(text) is None


def test_json_is_found_in_its_tag() -> None:
    assert find_json(
        'x <json_output id="1">```json\n{"a": 1}\n```</json_output> <json_output>2</json_output>'
    ) == {"a": 1}
    assert find_json("<json_output" + " " * 200 + "><json_output>[1]</json_output>") == [1]
