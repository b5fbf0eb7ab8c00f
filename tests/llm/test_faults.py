"""Every way a model server fails: the answer is right or the error is typed, and no text is ever doubled."""

from __future__ import annotations

import socket
import threading
import traceback
from typing import Any

import pytest
from pytest_django import Settings

import llm
from llm import (
    BadModelAnswer,
    BadModelRequest,
    ContextTooLong,
    LLMError,
    ModelCut,
    ModelIdle,
    ModelRefused,
    ModelUnavailable,
    Policy,
    RateLimited,
    RetryNote,
    StreamReset,
)
from tests.boundary.servers import reply, serve
from tests.llm.conftest import FAST, KEY, Asked, wait_for
from tests.offline_server import OfflineServer

TEXT = "one two three four five six seven eight"


def play(server: OfflineServer, fault: dict[str, Any], **step: Any) -> None:
    server.play({"steps": [{"text": TEXT, "fault": fault} | step]})


@pytest.mark.parametrize(
    ("fault", "requests"),
    [
        ({"status": 429, "retry_after": 0}, 2),
        ({"status": 429, "retry_after_ms": 5, "times": 2}, 3),
        ({"status": 429}, 2),
        ({"status": 500, "times": 2}, 3),
        ({"status": 503, "retry_after": 3600}, 2),
        ({"status": 408}, 2),
        ({"drop": True}, 2),
        ({"cut_after_chunks": 0}, 2),
        ({"cut_after_chunks": 1}, 2),
        ({"cut_after_chunks": 5, "times": 2}, 3),
        ({"cut_after_chunks": 8}, 2),
        ({"hang_after_chunks": 0}, 2),
        ({"hang_after_chunks": 4}, 2),
        ({"nonsense": "html", "times": 1}, 2),
        ({"nonsense": "no_sse", "times": 1}, 2),
        ({"nonsense": "bad_sse", "times": 1}, 2),
        ({"nonsense": "error_body", "times": 1}, 2),
        ({"nonsense": "error_event", "times": 1}, 2),
        ({"nonsense": "no_finish", "times": 1}, 2),
        ({"nonsense": "half_event", "times": 1}, 2),
        ({"nonsense": "no_done"}, 1),
    ],
)
def test_a_passing_fault_ends_in_the_whole_text_once(
    server: OfflineServer, fault: dict[str, Any], requests: int
) -> None:
    play(server, fault)
    asked = Asked()
    assert asked.run().text == TEXT
    assert asked.shown == TEXT
    assert len(server.requests) == requests


@pytest.mark.parametrize(
    ("fault", "error", "requests"),
    [
        ({"status": 500, "times": None}, ModelUnavailable, 3),
        ({"drop": True, "times": None}, ModelUnavailable, 3),
        ({"cut_after_chunks": 3, "times": None}, ModelCut, 3),
        ({"cut_after_chunks": 0, "times": None}, ModelCut, 3),
        ({"hang_after_chunks": 0, "times": None}, ModelIdle, 3),
        ({"hang_after_chunks": 3, "times": None}, ModelIdle, 3),
        ({"nonsense": "html"}, BadModelAnswer, 3),
        ({"nonsense": "no_sse"}, BadModelAnswer, 3),
        ({"nonsense": "bad_sse"}, BadModelAnswer, 3),
        ({"nonsense": "error_body"}, BadModelAnswer, 3),
        ({"nonsense": "error_event"}, BadModelAnswer, 3),
        ({"nonsense": "no_finish"}, ModelCut, 3),
        ({"nonsense": "half_event"}, ModelCut, 3),
        ({"status": 400, "times": None}, BadModelRequest, 1),
        ({"status": 401, "times": None}, BadModelRequest, 1),
        ({"status": 403, "times": None}, BadModelRequest, 1),
        ({"status": 404, "times": None}, BadModelRequest, 1),
        ({"status": 422, "times": None}, BadModelRequest, 1),
        ({"status": 429, "error": {"code": "insufficient_quota"}, "times": None}, BadModelRequest, 1),
        ({"status": 400, "error": {"code": "context_length_exceeded"}, "times": None}, ContextTooLong, 1),
        ({"status": 400, "error": {"code": "content_filter"}, "times": None}, ModelRefused, 1),
    ],
)
def test_a_lasting_fault_ends_in_its_error_after_the_tries_of_the_policy(
    server: OfflineServer, fault: dict[str, Any], error: type[LLMError], requests: int
) -> None:
    play(server, fault)
    with pytest.raises(LLMError) as caught:
        Asked().run()
    assert type(caught.value) is error
    assert caught.value.user_message
    most = requests if requests == 1 else FAST.tries + FAST.cut_tries
    assert requests <= len(server.requests) <= most


def test_a_long_pause_is_raised_at_once_with_its_length(server: OfflineServer) -> None:
    play(server, {"status": 429, "retry_after": 120, "times": None})
    with pytest.raises(RateLimited) as caught:
        Asked().run()
    assert caught.value.retry_after == 120
    assert len(server.requests) == 1


def test_short_pauses_that_never_end_also_free_the_worker(server: OfflineServer) -> None:
    play(server, {"status": 429, "retry_after": 0, "times": None})
    with pytest.raises(RateLimited) as caught:
        Asked().run()
    assert caught.value.retry_after > FAST.inline_retry_after_seconds
    assert len(server.requests) == 3


def test_a_short_pause_is_announced(server: OfflineServer) -> None:
    play(server, {"status": 429, "retry_after": 1})
    asked = Asked()
    asked.run()
    assert asked.of(RetryNote) == [
        RetryNote(message="The model is rate limited, next try in 1 s", seconds=1.0)
    ]
    assert asked.of(StreamReset) == []


def test_a_cut_after_text_voids_it_and_a_cut_before_any_does_not(server: OfflineServer) -> None:
    play(server, {"cut_after_chunks": 3})
    shown, silent = Asked(), Asked()
    shown.run()
    assert len(shown.of(StreamReset)) == 1
    server.reset()
    play(server, {"cut_after_chunks": 0})
    silent.run()
    assert silent.of(StreamReset) == []


def test_a_tool_call_that_is_cut_is_asked_again_and_comes_once(server: OfflineServer) -> None:
    calls = [{"name": "pay", "arguments": {"amount": 5}, "id": "call_1"}]
    play(server, {"cut_after_chunks": 1}, text="", tool_calls=calls)
    answer = Asked().run()
    assert [(call.id, call.name, call.arguments) for call in answer.tool_calls] == [
        ("call_1", "pay", '{"amount": 5}')
    ]


def test_a_finished_tool_call_is_accepted_without_the_end_mark(server: OfflineServer) -> None:
    play(server, {"nonsense": "no_done"}, tool_calls=[{"name": "pay", "arguments": {"amount": 5}}])
    answer = Asked().run()
    assert answer.finish_reason == "tool_calls"
    assert answer.usage.estimated
    assert len(server.requests) == 1


def test_arguments_that_are_no_json_are_handed_on_as_the_model_wrote_them(server: OfflineServer) -> None:
    play(server, {"nonsense": "bad_tool_json"}, tool_calls=[{"name": "pay", "arguments": {"amount": 5}}])
    (call,) = Asked().run().tool_calls
    assert call.arguments == '{"amou'
    assert len(server.requests) == 1


def test_a_huge_chunk_arrives_whole(server: OfflineServer) -> None:
    server.play({"steps": [{"text": "0123456789", "fault": {"nonsense": "huge_chunk"}}]})
    asked = Asked()
    assert len(asked.run().text) > 4_000_000
    assert len(asked.deltas) == 1


def test_an_answer_without_end_is_cut_off_at_the_cap(server: OfflineServer) -> None:
    server.play({"steps": [{"text": "0123456789", "fault": {"nonsense": "huge_chunk"}}]})
    with pytest.raises(BadModelAnswer, match="larger than"):
        Asked(policy=Policy(tries=1, max_answer_bytes=100_000)).run()


def test_a_refused_connection_is_tried_again_and_then_named(settings: Settings) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        settings.OPENAI_BASE_URL = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    settings.OPENAI_API_KEY, settings.COPILOT_FALLBACK_MODEL = KEY, ""
    asked = Asked()
    with pytest.raises(ModelUnavailable):
        asked.run()
    assert len(asked.of(RetryNote)) == 2


def test_a_server_that_speaks_no_http_is_nonsense(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def babble() -> None:
            for _ in range(3):
                connection, _ = listener.accept()
                connection.recv(65536)
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
                connection.close()

        threading.Thread(target=babble, daemon=True).start()
        settings.OPENAI_BASE_URL = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        settings.OPENAI_API_KEY, settings.COPILOT_FALLBACK_MODEL = KEY, ""
        with pytest.raises((BadModelAnswer, ModelUnavailable)):
            Asked().run()


def test_the_fallback_model_answers_when_the_first_one_keeps_failing(
    server: OfflineServer, settings: Settings
) -> None:
    settings.COPILOT_FALLBACK_MODEL = "spare"
    play(server, {"cut_after_chunks": 3, "times": None, "model": "offline"})
    asked = Asked()
    answer = asked.run()
    assert (answer.text, answer.model) == (TEXT, "spare")
    assert asked.shown == TEXT
    assert [record.model for record in server.requests] == ["offline"] * 3 + ["spare"]


def test_when_the_fallback_fails_too_the_first_error_is_raised(
    server: OfflineServer, settings: Settings
) -> None:
    settings.COPILOT_FALLBACK_MODEL = "spare"
    play(server, {"status": 500, "times": None})
    with pytest.raises(ModelUnavailable):
        Asked().run()
    assert [record.model for record in server.requests] == ["offline"] * 3 + ["spare"]


@pytest.mark.parametrize("status", [400, 401])
def test_a_refused_request_does_not_bother_the_fallback(
    server: OfflineServer, settings: Settings, status: int
) -> None:
    settings.COPILOT_FALLBACK_MODEL = "spare"
    play(server, {"status": status, "times": None})
    with pytest.raises(BadModelRequest):
        Asked().run()
    assert len(server.requests) == 1


def test_a_content_filter_without_text_is_a_refusal_and_with_text_an_answer(server: OfflineServer) -> None:
    server.play({"steps": [{"text": "", "finish_reason": "content_filter"}]}, contains="bad")
    server.play({"steps": [{"text": "half", "finish_reason": "content_filter"}]}, contains="fair")
    with pytest.raises(ModelRefused):
        Asked("bad").run()
    assert Asked("fair").run().finish_reason == "content_filter"


@pytest.mark.parametrize("name", ["stream_options", "temperature", "user"])
def test_a_field_that_the_server_refuses_is_left_out_from_then_on(server: OfflineServer, name: str) -> None:
    error = {"message": f"Unsupported parameter: '{name}' is not supported with this model.", "param": name}
    play(server, {"status": 400, "error": error})
    model = f"picky-{name}"
    assert Asked(model=model, temperature=0.1, user="u").run().text == TEXT
    assert Asked(model=model, temperature=0.1, user="u").run().text == TEXT
    assert [name in record.body for record in server.requests] == [True, False, False]


def test_the_cap_on_tokens_is_renamed_when_the_server_wants_the_other_name(server: OfflineServer) -> None:
    error = {
        "message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "param": "max_tokens",
    }
    play(server, {"status": 400, "error": error})
    Asked(model="picky-cap", max_output_tokens=50).run()
    first, second = (record.body for record in server.requests)
    assert first["max_tokens"] == second["max_completion_tokens"] == 50
    assert "max_tokens" not in second


def test_a_server_that_refuses_every_field_is_not_asked_for_ever(server: OfflineServer) -> None:
    error = {"message": "'max_tokens' and 'max_completion_tokens' and 'temperature' are refused"}
    play(server, {"status": 400, "error": error, "times": None})
    with pytest.raises(BadModelRequest):
        Asked(model="picky-all", max_output_tokens=50, temperature=0.1).run()
    assert len(server.requests) <= 5


def test_the_key_is_in_no_error_even_when_the_server_quotes_it(server: OfflineServer) -> None:
    for fault in (
        {"status": 401, "error": {"message": f"Incorrect API key provided: {KEY}"}},
        {"status": 500, "times": None, "error": {"message": f"Bearer {KEY} caused a crash"}},
    ):
        server.reset()
        play(server, fault)
        with pytest.raises(LLMError) as caught:
            Asked().run()
        shown = (
            "".join(traceback.format_exception(caught.value))
            + repr(vars(caught.value))
            + caught.value.user_message
        )
        assert KEY not in shown
        assert "REDACTED" in caught.value.detail


def test_a_hanging_request_is_closed_when_it_is_given_up(server: OfflineServer) -> None:
    play(server, {"hang_after_chunks": 2, "times": 1})
    Asked().run()
    wait_for(lambda: [record.closed_early for record in server.requests] == [True, False])


@pytest.mark.parametrize(
    "body",
    [
        "data: hello\n\n",
        "[" * 10_000 + "]" * 10_000,
        '{"data": 5}',
        '{"data": [5]}',
        '{"data": [{"id": null}]}',
        '"text"',
        "[]",
        "{}",
        '{"data": [{"id": "\\u0000\\ud800 embedding"}]}',
    ],
)
@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream"])
def test_a_list_of_models_that_makes_no_sense_is_a_typed_error(
    settings: Settings, body: str, media_type: str
) -> None:
    """Asked for where no model is named: the first one is taken."""
    headers = [("content-type", media_type)]
    with serve(lambda handler, received: reply(handler, body.encode(), headers=headers)) as server:
        settings.OPENAI_BASE_URL, settings.COPILOT_MODEL = server.url("/v1"), ""
        with pytest.raises(LLMError):
            llm.default_model()
