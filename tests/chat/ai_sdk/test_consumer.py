"""Frames that would hold the interpreter are refused before they are parsed; texts may hold what they like."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat import limits
from chat.ai_sdk.consumer import count_tokens, parse
from chat.delivery.consumer import CloseCode, SocketClosed


def frame(more: Any) -> str:
    return json.dumps({"type": "resume", "requestId": "r", "id": "x", "more": more})


@pytest.mark.parametrize("piece", ["[],", "{},", "1,", '{"a":1},'])
def test_a_frame_of_too_many_values_is_refused(piece: str) -> None:
    text = frame("?").replace('"?"', "[" + piece * (limits.MAX_FRAME_TOKENS + 1) + "1]")
    with pytest.raises(SocketClosed) as refused:
        parse(text)
    assert refused.value.code is CloseCode.BAD_FRAME


@pytest.mark.parametrize(
    "text", [",:[{" * 100_000, '\\",' * 100_000, "a,b\n" * 100_000, '"' * 1_000 + "," * 300_000]
)
def test_a_long_text_is_taken_whatever_is_in_it(text: str) -> None:
    assert parse(frame(text))["more"] == text


def test_as_many_values_as_may_be_are_taken() -> None:
    values = [0] * (limits.MAX_FRAME_TOKENS - 20)
    assert parse(frame(values))["more"] == values


def test_texts_that_never_end_are_gone_through_once(frozen_process_ends: None) -> None:
    assert count_tokens('"' + "," * limits.MAX_FRAME_BYTES) > limits.MAX_FRAME_TOKENS
    assert count_tokens('"\\' * (limits.MAX_FRAME_BYTES // 2) + "," * limits.MAX_FRAME_TOKENS) >= 0
