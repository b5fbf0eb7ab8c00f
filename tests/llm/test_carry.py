"""What of an answer is kept for the model, how pieces become a whole, and what is never kept or logged."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from llm import limits
from llm.carry import CARRY, Carry, CarryCollector, give_back, needed
from llm.dialects.chat import ChatAnswer, ChatDialect
from llm.errors import BadModelRequest
from llm.failures import TryFailed, without_quotes
from llm.retry import Failure, Kind
from llm.tokens import estimate_message_tokens
from llm.types import Delta, Request

HERE = "here"
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def collect(*deltas: dict[str, Any]) -> Carry:
    collector = CarryCollector()
    for delta in deltas:
        collector.take_message(delta)
    return collector.carry(HERE, [])


def given(carry: Carry) -> dict[str, Any]:
    """What of it a model is sent, beside the message itself."""
    message = {"role": "assistant", "content": None, "tool_calls": [CALL], CARRY: carry}
    (sent,) = give_back([message], carry.origin)
    return {name: value for name, value in sent.items() if name not in ("role", "content", "tool_calls")}


def test_only_named_fields_are_taken() -> None:
    assert not collect({"role": "assistant", "content": "hi", "refusal": None, "annotations": [1], "x": {}})


def test_empty_fields_are_left_out_but_empty_reasoning_text_is_wanted_back() -> None:
    carry = collect(
        {"reasoning_content": "", "reasoning": None, "reasoning_details": [], "extra_content": {}}
    )
    assert given(carry) == {"reasoning_content": ""}


def test_entries_with_other_ids_or_types_stay_apart() -> None:
    entries = [
        {"type": "reasoning.summary", "index": 0, "id": "a", "summary": "one"},
        {"type": "reasoning.text", "index": 0, "id": "a", "text": "two"},
        {"type": "reasoning.text", "index": 0, "id": "b", "text": "three"},
        {"type": "reasoning.text", "index": 1, "text": "four"},
        {"type": "reasoning.encrypted", "index": 0, "data": "x"},
        {"type": "reasoning.encrypted", "index": 0, "data": "y"},
        "not an object",
    ]
    carry = collect(*({"reasoning_details": [entry]} for entry in entries))
    assert given(carry) == {"reasoning_details": entries}


def test_interleaved_entries_are_joined_by_index() -> None:
    pieces = [(0, "a"), (1, "b"), (0, "c"), (1, "d")]
    carry = collect(
        *({"reasoning_details": [{"type": "t", "index": index, "text": text}]} for index, text in pieces)
    )
    whole = [{"type": "t", "index": 0, "text": "ac"}, {"type": "t", "index": 1, "text": "bd"}]
    assert given(carry) == {"reasoning_details": whole}


def test_answer_in_one_piece_has_its_carry_too() -> None:
    answer = ChatAnswer(ignore)
    call = CALL | {"extra_content": {"google": {"thought_signature": "s"}}}
    message = {
        "content": "",
        "tool_calls": [call],
        "thinking_blocks": [{"type": "thinking", "signature": "t"}],
    }
    answer.take_whole(json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode())
    (sent,) = give_back([{"role": "assistant", "tool_calls": [CALL], CARRY: answer.carry(HERE)}], HERE)
    assert sent["tool_calls"] == [call] and sent["thinking_blocks"] == message["thinking_blocks"]


def ignore(delta: Delta) -> None:
    """For tests that look at the answer only."""


@pytest.mark.parametrize(
    "value",
    [
        "x" * limits.MAX_CARRY_CHARACTERS,
        [float("nan")],
        json.loads("[" * (limits.MAX_CARRY_DEPTH + 1) + "]" * (limits.MAX_CARRY_DEPTH + 1)),
        json.loads("[" * 400 + "]" * 400),
    ],
    ids=["too large", "no JSON", "too deep", "much too deep"],
)
def test_what_cannot_be_kept_is_dropped_with_a_warning_that_names_no_value(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert not collect({"extra_content": {"google": value}})
    assert len(caplog.records) == 1 and len(caplog.text) < 300


def test_fields_that_change_their_type_do_not_break_an_answer() -> None:
    values = ["text", ["list"], {"an": "object"}, 7, None, True]
    for first in values:
        for second in values:
            for name in ("reasoning_content", "reasoning_details", "extra_content"):
                collect({name: first}, {name: second})


def test_stored_form_is_ascii_and_comes_back_exactly() -> None:
    value: dict[str, Any] = {"a": "\x00\ud800 é 日本 \u2028", "b": [1, 2.5, None, True, {"c": {}}]}
    stored = collect({"extra_content": value}).stored()
    assert stored.isascii() and "\x00" not in stored
    assert given(Carry.read(stored)) == {"extra_content": value}
    body = ChatDialect(origin=HERE).write(
        Request(model="m", messages=[{"role": "assistant", "content": "x", CARRY: Carry.read(stored)}]), "m"
    )
    assert json.loads(body)["messages"][0]["extra_content"] == value


def test_nothing_stored_is_nothing() -> None:
    assert Carry.read("") == Carry() and Carry().stored() == ""


def test_repr_shows_no_value() -> None:
    assert "secret" not in repr(collect({"extra_content": {"google": "secret"}}))


def test_plain_reasoning_of_an_exchange_without_tools_is_left_out() -> None:
    carry = collect({"reasoning_content": "long thought", "extra_content": {"s": "sig"}})
    prose = collect({"reasoning_content": "long thought"})
    user: dict[str, Any] = {"role": "user", "content": "hi"}
    calling: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL], CARRY: prose}
    messages: list[dict[str, Any]] = [
        user,
        {"role": "assistant", "content": "a", CARRY: carry},
        user,
        {"role": "assistant", "content": "b", CARRY: prose},
        user,
        calling,
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "assistant", "content": "c", CARRY: prose},
    ]
    kept = [message.get(CARRY) for message in needed(messages, HERE)]
    assert kept == [None, carry.without_prose(), None, None, None, prose, None, prose]
    assert needed(needed(messages, HERE), HERE) == needed(messages, HERE)
    assert estimate_message_tokens(needed(messages, HERE)) < estimate_message_tokens(messages)
    assert all(CARRY not in message for message in needed(messages, "elsewhere"))


def test_calls_under_other_ids_keep_what_came_with_them() -> None:
    collector = CarryCollector()
    collector.take_call(0, {"extra_content": {"s": 1}})
    carry = collector.carry(HERE, ["c1"]).with_call_ids({"c1": "c1.2"})
    (sent,) = give_back([{"role": "assistant", "tool_calls": [CALL | {"id": "c1.2"}], CARRY: carry}], HERE)
    assert sent["tool_calls"][0]["extra_content"] == {"s": 1}


def asked_with(carry: Carry) -> Request:
    said = {"role": "assistant", "content": None, "tool_calls": [CALL], CARRY: carry}
    return Request(model="m", messages=[{"role": "user", "content": "hi"}, said])


def refused(message: str) -> tuple[bool, bytes]:
    """Whether the server's words made a difference, and the next body."""
    dialect = ChatDialect(origin=HERE)
    request = asked_with(collect({"reasoning_content": "thought"}))
    body = json.dumps({"error": {"message": message}}).encode()
    learned = dialect.learn(400, body, dialect.write(request, "m"))
    return learned, dialect.write(request, "m")


def test_server_that_refuses_its_own_field_is_not_sent_it_again() -> None:
    learned, body = refused("messages.1.reasoning_content: Extra inputs are not permitted")
    assert learned and b"reasoning_content" not in body


def test_server_that_misses_a_field_is_still_sent_what_it_gave() -> None:
    learned, body = refused("The reasoning_content in the thinking mode must be passed back to the API.")
    assert not learned and b"reasoning_content" in body


@pytest.mark.parametrize("quote", ["AbC+123/xyz==", "AbC+123...", "'AbC+123/xyz==\x00'"])
def test_error_that_quotes_an_opaque_value_is_logged_without_it(quote: str) -> None:
    carry = collect({"extra_content": {"google": {"thought_signature": "AbC+123/xyz==\x00"}}})
    said = f"HTTP 400: Invalid signature {quote}"
    failure = Failure(kind=Kind.FINAL, detail=said, error=BadModelRequest(detail=said))
    clean = without_quotes(failure, asked_with(carry).messages)
    assert clean.error is not None
    assert "AbC" not in clean.detail + clean.error.detail + str(clean.error)
    assert "Invalid signature" in clean.detail


@pytest.mark.parametrize("event", [b'{"choices": [{"delta": {"extra_content": "S3CRET', b"[" * 100_000])
def test_chunk_that_makes_no_sense_is_not_quoted(event: bytes) -> None:
    with pytest.raises(TryFailed) as failed:
        ChatAnswer(ignore).take([event])
    assert failed.value.failure.kind is Kind.NONSENSE and "S3CRET" not in failed.value.failure.detail


def test_a_stream_of_countless_entries_costs_what_it_is_long() -> None:
    """Each piece is compared with few entries, so twice as many pieces are about twice the work."""
    compared = 0

    class Counted(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            nonlocal compared
            compared += 1
            return super().get(key, default)

    collector = CarryCollector()
    for index in range(3_000):
        collector.take_message({"reasoning_details": [Counted(type="reasoning.text", index=index, text="x")]})
    assert compared < 3_000 * 64 * 8
