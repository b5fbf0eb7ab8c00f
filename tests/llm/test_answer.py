"""The shapes that different servers give the same answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm.dialects.chat import ChatAnswer
from llm.errors import ModelRefused
from llm.failures import TryFailed
from llm.retry import Kind
from llm.types import Delta, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStart

STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


def read(*chunks: dict[str, Any], done: bool = True) -> tuple[ChatAnswer, list[Delta]]:
    deltas: list[Delta] = []
    answer = ChatAnswer(deltas.append)
    for chunk in chunks:
        answer.take([json.dumps(chunk).encode()])
    if done:
        answer.take([b"[DONE]"])
    return answer, deltas


def ignore(one: Delta) -> None:
    """For tests that look at the answer only."""


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def calls(*pieces: dict[str, Any]) -> dict[str, Any]:
    return delta(tool_calls=list(pieces))


def seen(answer: ChatAnswer) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in answer.tool_calls()]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_under_either_name(field: str) -> None:
    answer, deltas = read(delta(**{field: "hm"}), delta(content="yes"), STOP)
    assert (answer.reasoning(), answer.text(), answer.finish()) == ("hm", "yes", "stop")
    assert deltas == [ReasoningDelta(text="hm"), TextDelta(text="yes")]


def test_content_as_parts_with_thinking() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
    ]
    answer, _ = read(delta(content=parts), STOP)
    assert (answer.reasoning(), answer.text()) == ("hm", "yes")


def test_tool_calls_by_index_with_interleaved_arguments() -> None:
    answer, deltas = read(
        calls({"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}),
        calls({"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"y"'}}),
        calls(
            {"index": 0, "function": {"arguments": '{"x":1}'}}, {"index": 1, "function": {"arguments": ":2}"}}
        ),
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    )
    assert seen(answer) == [("f", '{"x":1}'), ("g", '{"y":2}')]
    assert answer.finish() == "tool_calls"
    assert deltas == [
        ToolCallStart(index=0, id="a", name="f"),
        ToolCallStart(index=1, id="b", name="g"),
        ToolCallDelta(index=1, arguments='{"y"'),
        ToolCallDelta(index=0, arguments='{"x":1}'),
        ToolCallDelta(index=1, arguments=":2}"),
    ]


@pytest.mark.parametrize(
    "pieces",
    [
        [
            {"function": {"name": "f", "arguments": {"x": 1}}},
            {"function": {"name": "f", "arguments": {"x": 2}}},
        ],
        [
            {"id": "", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"id": "", "function": {"name": "f", "arguments": '{"x": 2}'}},
        ],
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"index": 0, "id": "b", "function": {"name": "f", "arguments": '{"x": 2}'}},
        ],
        [
            {"index": 0, "id": "same", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"index": 1, "id": "same", "function": {"name": "f", "arguments": '{"x": 2}'}},
        ],
    ],
    ids=["no index, no id, objects", "empty ids", "index 0 for both", "one id for both"],
)
@pytest.mark.parametrize("together", [True, False])
def test_two_calls_stay_two_with_ids_of_their_own(pieces: list[dict[str, Any]], together: bool) -> None:
    answer, _ = read(*([calls(*pieces)] if together else [calls(piece) for piece in pieces]), STOP)
    assert seen(answer) == [("f", '{"x": 1}'), ("f", '{"x": 2}')]
    ids = [call.id for call in answer.tool_calls()]
    assert all(ids)
    assert len(set(ids)) == 2
    assert answer.finish() == "tool_calls"


def test_pieces_without_index_belong_to_the_newest_call() -> None:
    answer, _ = read(
        calls({"id": "a", "function": {"name": "f", "arguments": '{"x"'}}),
        calls({"function": {"arguments": ": 1}"}}),
        STOP,
    )
    assert seen(answer) == [("f", '{"x": 1}')]


def test_an_id_and_name_that_are_repeated_in_every_piece_are_one_call() -> None:
    piece = {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}}
    answer, deltas = read(calls(piece), calls(piece | {"function": {"name": "f", "arguments": ":1}"}}), STOP)
    assert seen(answer) == [("f", '{"x":1}')]
    assert len([one for one in deltas if isinstance(one, ToolCallStart)]) == 1


def test_a_name_that_comes_late_is_waited_for() -> None:
    answer, deltas = read(
        calls({"index": 0, "id": "a", "function": {"arguments": "{"}}),
        calls({"index": 0, "function": {"name": "f", "arguments": "}"}}),
        STOP,
    )
    assert seen(answer) == [("f", "{}")]
    assert deltas == [
        ToolCallStart(index=0, id="a", name="f"),
        ToolCallDelta(index=0, arguments="{"),
        ToolCallDelta(index=0, arguments="}"),
    ]


def test_the_old_function_call_is_a_tool_call() -> None:
    end = {"choices": [{"delta": {}, "finish_reason": "function_call"}]}
    answer, _ = read(delta(function_call={"name": "f", "arguments": "{}"}), end)
    assert (seen(answer), answer.finish()) == ([("f", "{}")], "tool_calls")


def test_an_answer_in_one_piece_although_a_stream_was_asked_for() -> None:
    message = {"role": "assistant", "content": "whole", "tool_calls": None}
    answer = ChatAnswer(ignore)
    answer.take_whole(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())
    assert (answer.text(), answer.finish()) == ("whole", "stop")


@pytest.mark.parametrize(
    ("given", "heard"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("MAX_TOKENS", "length"),
        ("length", "length"),
        ("tool_calls", "stop"),
        ("model_length", "length"),
        ("content_filter: PROHIBITED_CONTENT", "content_filter"),
        ("RECITATION", "content_filter"),
    ],
)
def test_finish_reasons_are_brought_to_four(given: str, heard: str) -> None:
    answer, _ = read(delta(content="x"), {"choices": [{"delta": {}, "finish_reason": given}]})
    assert answer.finish() == heard


@pytest.mark.parametrize(
    "end",
    [None, "error", "insufficient_system_resource", "abort", "function_call_filter: MALFORMED_FUNCTION_CALL"],
)
def test_a_stream_without_a_finish_reason_or_given_up_by_the_server_is_cut(end: str | None) -> None:
    answer, _ = read(delta(content="x"), {"choices": [{"delta": {}, "finish_reason": end}]})
    with pytest.raises(TryFailed) as caught:
        answer.finish()
    assert (caught.value.failure.kind, caught.value.failure.started) == (Kind.CUT, True)


def test_half_a_tool_call_without_the_end_mark_is_cut_and_with_it_is_handed_on() -> None:
    half = calls({"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x'}})
    end = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    cut, _ = read(half, end, done=False)
    with pytest.raises(TryFailed):
        cut.finish()
    whole, _ = read(half, end)
    assert whole.finish() == "tool_calls"


@pytest.mark.parametrize(
    "usage",
    [
        {"usage": {"prompt_tokens": 5, "completion_tokens": 2}},
        {"x_groq": {"usage": {"prompt_tokens": 5, "completion_tokens": 2}}},
        {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": None}},
    ],
)
def test_usage_in_a_last_chunk_without_choices(usage: dict[str, Any]) -> None:
    answer, _ = read(delta(content="x"), STOP, {"choices": []} | usage)
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (5, 2)


def test_a_tool_call_that_a_filter_has_cut_is_not_handed_on() -> None:
    whole = calls({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}})
    answer, _ = read(
        delta(content="x"), whole, {"choices": [{"delta": {}, "finish_reason": "content_filter"}]}
    )
    with pytest.raises(TryFailed) as caught:
        answer.finish()
    assert isinstance(caught.value.failure.error, ModelRefused)


def test_the_empty_first_chunk_of_azure_begins_nothing() -> None:
    first = {
        "id": "",
        "object": "",
        "model": "",
        "choices": [],
        "prompt_filter_results": [{"prompt_index": 0}],
    }
    filtered = {
        "choices": [{"delta": {}, "finish_reason": None, "content_filter_offsets": {"check_offset": 1}}]
    }
    answer, deltas = read(
        first, delta(role="assistant", content="", refusal=None), filtered, delta(content="x"), STOP
    )
    assert (answer.text(), answer.finish(), len(deltas)) == ("x", "stop", 1)


def test_a_refusal_is_told_in_the_models_words() -> None:
    answer, _ = read(delta(refusal="I cannot help with that."), STOP)
    with pytest.raises(TryFailed) as caught:
        answer.finish()
    assert caught.value.failure.error is not None
    assert "I cannot help with that." in caught.value.failure.error.user_message


@pytest.mark.parametrize(
    "event", [b"{", b"[]", b"7", b'"x"', b'{"choices": [7]}', b'{"choices": {}, "id": 1}', b"{}"]
)
def test_data_that_is_no_chunk_is_nonsense(event: bytes) -> None:
    answer = ChatAnswer(ignore)
    with pytest.raises(TryFailed) as caught:
        answer.take([event])
        answer.finish()
    assert caught.value.failure.kind in (Kind.NONSENSE, Kind.CUT)


def test_neighbouring_text_of_one_read_is_one_delta() -> None:
    deltas: list[Delta] = []
    answer = ChatAnswer(deltas.append)
    answer.take([json.dumps(delta(content=text)).encode() for text in ("a", "b", "c")])
    assert deltas == [TextDelta(text="abc")]


def test_a_character_cut_in_two_is_joined_and_half_ones_are_replaced() -> None:
    answer, deltas = read(delta(content="x\ud83d"), delta(content="\ude00y"), delta(content="\udc00"), STOP)
    assert answer.text() == "x😀y\ufffd"
    assert deltas[0] == TextDelta(text="x")
    answer.text().encode()


def test_what_no_database_takes_is_replaced() -> None:
    assert read(delta(content="a\x00b"), STOP)[0].text() == "a\ufffdb"
