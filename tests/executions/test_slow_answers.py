"""What a model answers is read in linear time: a page it has read may have told it what to answer."""

from __future__ import annotations

import pytest

from blocks.support.ai import find_json
from executions.generator.errors import BadDraft
from executions.generator.json_answers import read_object

SLOW = {
    "a fence without an end": "```" + " " * 300_000,
    "a fence of lines": "```\n" + "\n" * 300_000 + "x",
    "empty lines": "{" + "\n" * 300_000,
    "tags without an end": "<json_output>" * 30_000,
    "tags after the last end": "</json_output>" + "<json_output>" * 30_000,
    "commas": "{" + ", " * 150_000,
}


@pytest.mark.usefixtures("frozen_process_ends")
@pytest.mark.parametrize("name", SLOW)
def test_an_answer_made_to_be_slow_is_refused_at_once(name: str) -> None:
    with pytest.raises(BadDraft):
        read_object(SLOW[name])
    with pytest.raises(ValueError):
        find_json(SLOW[name])


def test_json_is_still_found_where_a_model_puts_it() -> None:
    assert find_json('so: <json_output a="b">{"n": 1}</json_output> <json_output>') == {"n": 1}
    assert find_json('<json_output>\n```json\n{"n": 2}\n```\n</json_output>') == {"n": 2}
    assert read_object('```json\n\n  {"n": 3} ```') == {"n": 3}
    assert read_object('```\n\n// why\n\n   // so\n{"n": 4,}\n```') == {"n": 4}
