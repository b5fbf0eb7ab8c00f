"""What single blocks do beyond their examples: over several runs, over time, and with hostile values."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks import limits
from blocks.catalog.data_sampling import METHODS
from blocks.catalog.read_rss_feed import FEED, URL
from blocks.context import BlockContext
from blocks.errors import BlockFailed, BlockTimedOut
from blocks.examples import NOON, ExamplePage, World
from blocks.ports import ReviewDecision
from blocks.registry import get_registry
from blocks.run import run_block
from blocks.support.patterns import compile_pattern, expanded_size, find_each, find_first
from tests.blocks.doubles import FixedAgents, FixedReviews, MemoryFiles, ScriptedWeb, StillClock, make_context
from tests.tiers import examples


def run(name: str, inputs: dict[str, Any], context: BlockContext | None = None) -> list[tuple[str, Any]]:
    return list(run_block(get_registry().get_by_name(name), inputs, context or make_context()))


# --- Data Sampling ------------------------------------------------------------------------------

ROWS = [{"id": number, "group": "big" if number % 4 else "small", "weight": number} for number in range(40)]
KEYS = {"stratify_key": "group", "weight_key": "weight", "cluster_key": "group"}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_picks_as_many_as_asked_with_their_indices(method: str) -> None:
    outputs = dict(run("Data Sampling", {"data": ROWS, "sample_size": 8, "sampling_method": method, **KEYS}))
    indices = outputs["sample_indices"]
    assert len(indices) == 8
    assert outputs["sampled_data"] == [ROWS[index] for index in indices]
    if method != "weighted":
        assert len(set(indices)) == 8


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_and_the_same_run_pick_the_same(method: str) -> None:
    inputs = {"data": ROWS, "sample_size": 8, "sampling_method": method, **KEYS}
    assert run("Data Sampling", inputs | {"random_seed": 5}) == run(
        "Data Sampling", inputs | {"random_seed": 5}
    )
    assert run("Data Sampling", inputs) == run("Data Sampling", inputs)


def test_another_run_throws_other_dice() -> None:
    inputs = {"data": ROWS, "sample_size": 8}
    assert run("Data Sampling", inputs) != run(
        "Data Sampling", inputs, make_context(idempotency_key="another")
    )


@settings(deadline=None, max_examples=examples(50))
@given(st.integers(1, 40), st.integers(0, 1000))
def test_a_stratified_sample_keeps_the_shares(size: int, seed: int) -> None:
    inputs = {"data": ROWS, "sample_size": size, "sampling_method": "stratified", "random_seed": seed, **KEYS}
    counts = Counter(row["group"] for row in dict(run("Data Sampling", inputs))["sampled_data"])
    assert sum(counts.values()) == size
    assert abs(counts["small"] - size / 4) < 1
    assert abs(counts["big"] - size * 3 / 4) < 1


def test_a_cluster_sample_takes_whole_groups_first() -> None:
    inputs = {"data": ROWS, "sample_size": 10, "sampling_method": "cluster", **KEYS}
    assert len({row["group"] for row in dict(run("Data Sampling", inputs))["sampled_data"]}) == 1


def test_gathering_goes_on_over_runs_and_a_second_attempt_adds_nothing_twice() -> None:
    context = make_context()

    def part(run_id: str, *ids: int) -> list[tuple[str, Any]]:
        inputs = {
            "data": [{"id": number} for number in ids],
            "sample_size": 3,
            "accumulate": True,
            "sampling_method": "top",
        }
        return run("Data Sampling", inputs, make_context(ports=context.ports, node_execution_id=run_id))

    assert part("run-1", 1) == []
    assert part("run-1", 1) == []
    assert part("run-2", 2) == []
    full = [("sampled_data", [{"id": 1}, {"id": 2}, {"id": 3}]), ("sample_indices", [0, 1, 2])]
    assert part("run-3", 3) == full
    assert part("run-3", 3) == full
    assert part("run-4", 4) == []


# --- time ---------------------------------------------------------------------------------------


def test_a_countdown_waits_its_time_each_round() -> None:
    context = make_context()
    run("Countdown Timer", {"minutes": 2, "seconds": "30", "repeat": 2}, context)
    clock = context.ports.clock
    assert isinstance(clock, StillClock)
    assert clock.moment - NOON == timedelta(minutes=5)
    assert clock.waits == [timedelta(seconds=150)] * 2


def test_a_countdown_taken_over_waits_only_for_what_is_left() -> None:
    first = make_context()
    block = get_registry().get_by_name("Countdown Timer")
    inputs = {"minutes": 10, "repeat": 3}
    begun = run_block(block, inputs, first)
    next(begun)
    clock = first.ports.clock
    assert isinstance(clock, StillClock)
    clock.moment += timedelta(minutes=4)
    second = make_context(ports=first.ports, recorded_outputs=1)
    assert len(list(run_block(block, inputs, second))) == 2
    assert clock.moment - NOON == timedelta(minutes=30)


def test_a_feed_read_continuously_emits_each_entry_once() -> None:
    context = make_context(World(pages={URL: ExamplePage(body=FEED)}))
    block = get_registry().get_by_name("Read RSS Feed")
    emissions = run_block(block, {"rss_url": URL, "polling_rate": 60}, context)
    first = list(islice(emissions, 2))
    assert [pin for pin, _ in first] == ["entry", "entries"]
    assert list(islice(emissions, 2)) == [("entries", []), ("entries", [])]
    web, clock = context.ports.http, context.ports.clock
    assert isinstance(web, ScriptedWeb)
    assert isinstance(clock, StillClock)
    web.pages = {URL: ExamplePage(body=FEED.replace("<title>New</title>", "<title>Newer</title>"))}
    assert next(emissions)[1]["title"] == "Newer"
    assert clock.moment - NOON == timedelta(minutes=3)


def test_a_feed_read_once_does_not_wait() -> None:
    context = make_context(World(pages={URL: ExamplePage(body=FEED)}))
    run("Read RSS Feed", {"rss_url": URL, "polling_rate": 60, "run_continuously": False}, context)
    assert isinstance(context.ports.clock, StillClock)
    assert context.ports.clock.waits == []


def test_an_endless_run_ends_at_its_time_cap() -> None:
    import time

    with pytest.raises(BlockTimedOut):
        run(
            "Read RSS Feed",
            {"rss_url": URL, "polling_rate": 60},
            make_context(World(pages={URL: ExamplePage(body=FEED)}), deadline=time.monotonic() + 0.2),
        )


# --- files --------------------------------------------------------------------------------------


def test_a_file_kept_twice_by_the_same_run_is_one_file() -> None:
    context = make_context(World(from_chat=True))
    first = run("File Store", {"file_in": "data:,Hello"}, context)
    assert run("File Store", {"file_in": "data:,Hello"}, context) == first
    assert isinstance(context.ports.files, MemoryFiles)
    assert len(context.ports.files.files) == 1


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(BlockFailed, match="larger than"):
        run("File Read", {"file_input": "data:," + "x" * (limits.MAX_BLOCK_FILE_BYTES + 1)})


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("data:,a%20b", "a b"),
        ("data:text/plain;charset=utf-8,%C3%A9", "é"),
        ("data:text/plain;base64,SGVsbG8", "Hello"),
        ("data:;base64,SGVs\nbG8=", "Hello"),
        ("data:application/json;charset=utf-8;base64,e30=", "{}"),
    ],
)
def test_data_uris_of_all_forms_are_read(uri: str, text: str) -> None:
    assert run("File Read", {"file_input": uri}) == [("content", text)]


@pytest.mark.parametrize(
    "reference",
    [
        "data:",
        "data:text/plain",
        "data:text/plain;base64,%%%",
        "ftp://example.com/a",
        "file:///etc/passwd",
        "javascript:1",
    ],
)
def test_references_of_other_kinds_are_refused(reference: str) -> None:
    with pytest.raises(BlockFailed):
        run("File Read", {"file_input": reference})


# --- people, agents -----------------------------------------------------------------------------


def test_a_review_is_asked_with_the_key_of_the_run() -> None:
    context = make_context(World(decision=ReviewDecision(approved=True, data=1)))
    run("Human In The Loop", {"data": 1, "name": "x"}, context)
    assert isinstance(context.ports.reviews, FixedReviews)
    assert list(context.ports.reviews.questions) == ["node-execution-1"]


NODE = {
    "user_id": "mallory",
    "graph_id": "g",
    "graph_version": 1,
    "output_schema": {"properties": {"out": {}}},
}


def test_a_child_agent_gets_its_inputs_in_its_types() -> None:
    context = make_context(World(child_outputs=[("out", 1)]))
    schema = {"properties": {"n": {"type": "integer"}, "tags": {"type": "array"}, "gone": {}}}
    inputs = NODE | {"input_schema": schema, "n": "5", "tags": "a", "gone": None}
    assert run("Agent Executor", inputs, context) == [("out", 1)]
    assert isinstance(context.ports.agents, FixedAgents)
    (child,) = context.ports.agents.runs
    assert (child.inputs, child.key) == ({"n": 5, "tags": ["a"]}, "node-execution-1")
    assert not hasattr(child, "user_id")


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "string", "pattern": "(a|aa)+$"}}},
        {"properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}},
        {"$ref": "file:///etc/passwd"},
    ],
)
def test_a_schema_from_outside_neither_hangs_nor_reaches_out(schema: dict[str, Any]) -> None:
    inputs = NODE | {"input_schema": schema, "inputs": {"a": "a" * 60 + "b"}}
    assert run("Agent Executor", inputs) == []


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"properties": 5}, {"required": "a"}, {"minProperties": "x"}]
)
def test_a_schema_that_is_none_fails_with_a_sentence_or_is_ignored(schema: dict[str, Any]) -> None:
    try:
        run("Agent Executor", NODE | {"input_schema": schema, "inputs": {"a": 1}})
    except BlockFailed as error:
        assert str(error)


def test_a_schema_nested_too_deeply_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100):
        schema = {"properties": {"a": schema}}
    with pytest.raises(BlockFailed, match="nested too deeply"):
        run("Agent Executor", NODE | {"input_schema": schema})


# --- patterns -----------------------------------------------------------------------------------


def test_matches_are_limited_in_number_and_text_in_length() -> None:
    pattern = compile_pattern("a", case_sensitive=True, dot_all=True)
    assert len(list(find_each(pattern, "a" * 5_000))) == limits.MAX_REGEX_MATCHES
    assert find_first(pattern, "b" * limits.MAX_REGEX_TEXT_CHARACTERS + "a") is None


@given(st.text(alphabet="ab(){}[]*+?|\\0123,^$.", max_size=30))
@settings(deadline=None)
def test_any_pattern_compiles_or_fails_with_a_sentence(pattern: str) -> None:
    assert expanded_size(pattern) >= 0
    try:
        compile_pattern(pattern, case_sensitive=True, dot_all=True)
    except BlockFailed as error:
        assert str(error)


@given(st.text())
def test_encoded_text_decodes_to_itself(text: str) -> None:
    ((_, encoded),) = run("Text Encoder", {"text": text})
    assert encoded.isascii()
    ((_, decoded),) = run("Text Decoder", {"text": encoded})
    assert decoded == text.replace("\0", "\ufffd")
