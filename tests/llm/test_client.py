"""The client against a real server over HTTP: what it streams, what it returns, how it stops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from decimal import Decimal

import pytest
from pytest_django import Settings

import llm
from durable.stop_signal import StopSignal
from llm import (
    AnswerCancelled,
    BadModelRequest,
    Delta,
    ReasoningDelta,
    Request,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    ToolSpec,
    Usage,
)
from tests.llm.conftest import FAST, KEY, Asked, wait_for
from tests.offline_server import OfflineServer

ADD = ToolSpec(
    name="add", description="Add.", parameters={"type": "object", "properties": {"a": {"type": "integer"}}}
)


def test_text_streams_piece_by_piece_and_is_returned_whole(server: OfflineServer) -> None:
    server.play({"steps": [{"chunks": ["Hel", "lo ", "wörld 🌍"], "delay": 0.02}]})
    asked = Asked()
    answer = asked.run()
    assert answer.text == "Hello wörld 🌍"
    assert asked.deltas == [TextDelta(text="Hel"), TextDelta(text="lo "), TextDelta(text="wörld 🌍")]
    assert (answer.finish_reason, answer.model, answer.tool_calls) == ("stop", "offline", ())


def test_reasoning_is_kept_apart_from_text(server: OfflineServer) -> None:
    server.play({"steps": [{"reasoning": "let me see", "text": "42"}]})
    asked = Asked()
    answer = asked.run()
    assert (answer.reasoning, answer.text) == ("let me see", "42")
    assert asked.of(ReasoningDelta) == [ReasoningDelta(text="let me see")]


def test_parallel_tool_calls_keep_their_order_ids_and_arguments(server: OfflineServer) -> None:
    calls = [{"name": "add", "arguments": {"a": n}, "id": f"call_{n}"} for n in range(3)]
    server.play({"steps": [{"text": "Adding.", "tool_calls": calls}]})
    asked = Asked(tools=[ADD])
    answer = asked.run()
    assert answer.finish_reason == "tool_calls"
    assert [(call.id, call.name, json.loads(call.arguments)) for call in answer.tool_calls] == [
        (f"call_{n}", "add", {"a": n}) for n in range(3)
    ]
    assert asked.of(ToolCallStart) == [ToolCallStart(index=n, id=f"call_{n}", name="add") for n in range(3)]
    assert asked.of(ToolCallDelta) == [ToolCallDelta(index=n, arguments=f'{{"a": {n}}}') for n in range(3)]


def test_the_server_receives_what_was_asked(server: OfflineServer) -> None:
    server.play({"steps": [{"text": "ok"}]})
    wanted = {"type": "json_object"}
    Asked(tools=[ADD], temperature=0.5, max_output_tokens=99, user="u1", response_format=wanted).run()
    body = server.requests[0].body
    assert body["tools"][0]["function"] == {
        "name": "add",
        "description": "Add.",
        "parameters": ADD.parameters,
    }
    assert (body["temperature"], body["max_tokens"], body["user"]) == (0.5, 99, "u1")
    assert body["response_format"] == wanted
    assert body["stream_options"] == {"include_usage": True}


def test_usage_comes_from_the_server(server: OfflineServer) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 7},
    }
    server.play({"steps": [{"text": "ok", "usage": usage}]})
    assert Asked().run().usage == Usage(
        input_tokens=100, output_tokens=20, cached_tokens=60, reasoning_tokens=7, estimated=False
    )


def test_usage_is_estimated_and_marked_when_the_server_is_silent_about_it(server: OfflineServer) -> None:
    server.play({"steps": [{"text": "x" * 400, "usage": {}}]})
    usage = Asked("y" * 800).run().usage
    assert usage.estimated
    assert usage.output_tokens == 100
    assert 200 <= usage.input_tokens <= 210


def test_an_answer_of_the_offline_model_costs_nothing(server: OfflineServer) -> None:
    assert Asked("hello").run().cost == Decimal(0)


def test_complete_returns_the_same_without_deltas(server: OfflineServer) -> None:
    server.play({"steps": [{"text": "A short title"}]})
    request = Request(model="offline", messages=[{"role": "user", "content": "hi"}])
    assert llm.complete(request, policy=FAST).text == "A short title"


def test_an_empty_model_name_means_the_default_one(server: OfflineServer, settings: Settings) -> None:
    settings.COPILOT_MODEL = "my-model"
    assert Asked(model="").run().model == "my-model"
    assert server.requests[0].model == "my-model"


def test_an_unknown_server_is_asked_for_its_models_when_none_is_configured(
    server: OfflineServer, settings: Settings
) -> None:
    settings.COPILOT_MODEL = ""
    assert llm.default_model() == "offline"
    assert llm.title_model() == "offline"


def test_the_title_model_is_the_small_one_when_it_is_set(server: OfflineServer, settings: Settings) -> None:
    settings.COPILOT_TITLE_MODEL = "tiny"
    assert (llm.default_model(), llm.title_model()) == ("offline", "tiny")


def test_a_known_endpoint_has_default_models(settings: Settings) -> None:
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = KEY, ""
    settings.COPILOT_MODEL = settings.COPILOT_TITLE_MODEL = ""
    assert llm.default_model().startswith("gpt-")
    assert llm.model_info(llm.default_model()).sees_images
    assert llm.title_model() != llm.default_model()


def test_without_any_configuration_the_error_says_what_to_set(settings: Settings) -> None:
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = ""
    with pytest.raises(BadModelRequest, match="OPENAI_API_KEY"):
        Asked(model="x").run()


def test_a_base_url_that_is_no_address_is_refused_by_name(settings: Settings) -> None:
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = KEY, "localhost:11434/v1"
    with pytest.raises(BadModelRequest, match="OPENAI_BASE_URL"):
        Asked(model="x").run()


def test_a_server_without_a_key_is_asked_all_the_same(server: OfflineServer, settings: Settings) -> None:
    settings.OPENAI_API_KEY = ""
    assert Asked("say hi there").run().text == "hi there"


def test_cancel_closes_the_request_at_once_and_nothing_follows(server: OfflineServer) -> None:
    server.play({"steps": [{"chunks": 1000, "gate": "held", "gate_at": 3}]})
    asked, cancelled = Asked(), StopSignal()
    outcome: list[BaseException] = []

    def run() -> None:
        try:
            asked.run(cancelled)
        except AnswerCancelled as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: asked.shown == "0 1 2 ")
    cancelled.set()
    thread.join(5)
    assert [type(error) for error in outcome] == [AnswerCancelled]
    wait_for(lambda: server.requests[0].closed_early)
    server.release("held")
    assert asked.shown == "0 1 2 "
    assert len(server.requests) == 1


def test_cancel_while_waiting_for_the_next_try_asks_no_more(server: OfflineServer) -> None:
    server.play({"steps": [{"text": "late", "fault": {"status": 429, "retry_after": 9}}]})
    asked, cancelled = Asked(), StopSignal()

    def cancel_at_the_first_note() -> None:
        wait_for(lambda: asked.deltas)
        cancelled.set()

    threading.Thread(target=cancel_at_the_first_note).start()
    with pytest.raises(AnswerCancelled):
        asked.run(cancelled)
    assert len(server.requests) == 1


def test_a_signal_that_is_already_set_sends_nothing(server: OfflineServer) -> None:
    cancelled = StopSignal()
    cancelled.set()
    with pytest.raises(AnswerCancelled):
        Asked().run(cancelled)
    assert server.requests == []


def test_the_callback_is_removed_when_the_answer_is_complete(server: OfflineServer) -> None:
    cancelled = StopSignal()
    Asked("say hi").run(cancelled)
    assert not cancelled._callbacks


def test_an_error_in_the_listener_ends_the_request_and_is_raised(server: OfflineServer) -> None:
    server.play({"steps": [{"chunks": 1000, "gate": "held", "gate_at": 2}]})

    def listen(delta: Delta) -> None:
        raise ValueError("a bug in the listener")

    request = Request(model="offline", messages=[{"role": "user", "content": "go"}])
    with pytest.raises(ValueError, match="a bug in the listener"):
        llm.stream(request, listen, cancelled=StopSignal(), policy=FAST)
    wait_for(lambda: server.requests[0].closed_early)
    assert len(server.requests) == 1


def test_forty_answers_stream_at_the_same_time(server: OfflineServer) -> None:
    server.play({"steps": [{"chunks": 20, "gate": "all", "gate_at": 1}]})
    asked = [Asked() for _ in range(40)]
    threads = [threading.Thread(target=one.run) for one in asked]
    for thread in threads:
        thread.start()
    wait_for(lambda: all(one.deltas for one in asked))
    server.release("all")
    for thread in threads:
        thread.join(10)
    assert {one.shown for one in asked} == {"".join(f"{n} " for n in range(20))}


def test_an_answer_that_takes_too_long_in_all_is_given_up(server: OfflineServer) -> None:
    server.play({"steps": [{"chunks": 100_000, "delay": 0.01}]})
    policy = llm.Policy(answer_seconds=0.3)
    with pytest.raises(llm.ModelUnavailable, match="longer than"):
        Asked(policy=policy).run()
    wait_for(lambda: server.requests[0].closed_early)


def test_answers_in_a_row_use_one_connection(settings: Settings) -> None:
    with OfflineServer() as fresh:
        settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = KEY, fresh.url
        for _ in range(10):
            Asked("say hi").run()
        assert len(fresh.requests) == 10
        assert len({record.peer for record in fresh.requests}) == 1


def test_a_forked_child_asks_on_connections_of_its_own(server: OfflineServer) -> None:
    """A worker may have talked to the model before it forks."""
    code = """
import os, sys, django
django.setup()
import llm
ask = lambda: llm.complete(llm.Request(model="offline", messages=[{"role": "user", "content": "say hi"}])).text
assert ask() == "hi"
child = os.fork()
if child == 0:
    os._exit(0 if ask() == "hi" else 7)
assert os.waitpid(child, 0)[1] == 0
assert ask() == "hi"
"""
    environ = os.environ | {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": KEY,
        "DJANGO_SETTINGS_MODULE": "copilot_project.settings",
    }
    outcome = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=90
    )
    assert outcome.returncode == 0, outcome.stderr
    assert len({record.peer for record in server.requests}) == 2
    assert "Unclosed" not in outcome.stderr


def test_importing_the_package_does_not_import_openai() -> None:
    code = (
        "import sys, django; from django.conf import settings; settings.configure(); import llm; "
        "print([name for name in ('openai', 'aiohttp', 'httpx2') if name in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert shown.stdout.strip() == "[]"
