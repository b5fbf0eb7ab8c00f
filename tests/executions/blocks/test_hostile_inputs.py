"""Inputs made to cost much: each block answers within a budget of processor time of this process."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from executions.blocks.doubles import make_context
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import World
from executions.blocks.families.patterns import expanded_size
from executions.blocks.registry import get_registry
from executions.blocks.run import run_block

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
