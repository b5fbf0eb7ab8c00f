"""The offline model seen by strangers: a stock `openai` client, plain HTTP, and the control endpoints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.llm.conftest import wait_for
from tests.offline_server import OfflineServer

ROOT = Path(__file__).resolve().parents[3]
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "web_fetch",
        "parameters": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
    },
}


@pytest.fixture
def client(server: OfflineServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url, api_key="anything", max_retries=0)


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["offline"]


def test_create_answers_in_one_piece_with_usage(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="offline", messages=[{"role": "user", "content": "say hi there"}]
    )
    assert answer.choices[0].message.content == "hi there"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


def test_a_stream_ends_with_a_finish_reason_and_usage_only_when_asked_for(client: openai.OpenAI) -> None:
    def chunks(**options: Any) -> list[Any]:
        message: Any = {"role": "user", "content": "count to 5"}
        return list(
            client.chat.completions.create(model="offline", messages=[message], stream=True, **options)
        )

    plain = chunks()
    assert "".join(c.choices[0].delta.content or "" for c in plain) == "1\n2\n3\n4\n5\n"
    assert [c.choices[0].finish_reason for c in plain][-1] == "stop"
    with_usage = chunks(stream_options={"include_usage": True})
    assert with_usage[-1].choices == []
    assert with_usage[-1].usage.prompt_tokens > 0


def test_a_tool_is_called_and_its_result_told(client: openai.OpenAI) -> None:
    messages: list[Any] = [{"role": "user", "content": "fetch https://example.com please"}]
    asked = client.chat.completions.create(model="offline", messages=messages, tools=[TOOL]).choices[0]
    assert asked.finish_reason == "tool_calls"
    assert asked.message.tool_calls
    call: Any = asked.message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == (
        "web_fetch",
        {"url": "https://example.com"},
    )
    result = json.dumps({"type": "web_fetch", "message": "Fetched.", "content": "Example Domain"})
    messages += [asked.message.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": result}]
    told = client.chat.completions.create(model="offline", messages=messages, tools=[TOOL]).choices[0]
    assert "Example Domain" in (told.message.content or "")


def test_the_sdks_stream_helper_understands_tool_calls(client: openai.OpenAI) -> None:
    message: Any = {"role": "user", "content": "fetch https://example.com"}
    with client.chat.completions.stream(model="offline", messages=[message], tools=[TOOL]) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert "tool_calls.function.arguments.done" in kinds
    assert final.choices[0].message.tool_calls


def test_the_same_question_has_the_same_answer_to_the_byte(server: OfflineServer) -> None:
    body = {"model": "offline", "stream": True, "messages": [{"role": "user", "content": "what can you do?"}]}
    first, second = (httpx.post(f"{server.url}/chat/completions", json=body) for _ in range(2))
    assert first.content == second.content
    assert first.content.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"{}",
        b'{"messages": []}',
        b'{"messages": 7}',
        b'{"messages": [{}], "tools": [7]}',
    ],
)
def test_a_request_that_cannot_be_read_is_refused_as_openai_would(
    server: OfflineServer, content: bytes
) -> None:
    answer = httpx.post(f"{server.url}/chat/completions", content=content)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert httpx.get(f"{server.root}/healthz").json()["status"] == "ok"


@pytest.mark.parametrize(
    "script",
    [
        "SCRIPT: nothing",
        'SCRIPT: {"x": 1}',
        'SCRIPT: {"steps": [{"txt": 1}]}',
        'SCRIPT: {"steps": [{"fault": {"a": 1}}]}',
    ],
)
def test_a_broken_script_is_refused_with_the_reason(server: OfflineServer, script: str) -> None:
    body = {"model": "offline", "messages": [{"role": "user", "content": script}]}
    answer = httpx.post(f"{server.url}/chat/completions", json=body)
    assert answer.status_code == 400
    assert "read" in answer.json()["error"]["message"]


def test_a_script_in_the_message_is_played_round_by_round(client: openai.OpenAI) -> None:
    script = {
        "id": "s",
        "steps": [{"tool_calls": [{"name": "f", "arguments": {"x": 1}, "id": "c1"}]}, {"text": "two"}],
    }
    user = {"role": "user", "content": f"Do it. SCRIPT:\n```json\n{json.dumps(script)}\n```\nThanks."}
    messages: list[Any] = [
        {"role": "user", "content": "before"},
        {"role": "assistant", "content": "hm"},
        user,
    ]

    def ask() -> Any:
        return client.chat.completions.create(model="offline", messages=messages).choices[0]

    first = ask()
    assert first.message.tool_calls[0].id == "c1"
    messages += [first.message.model_dump(), {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    assert ask().message.content == "two"
    messages.append({"role": "assistant", "content": "two"})
    assert ask().message.content == "done"


def test_a_script_never_answers_for_a_title(client: openai.OpenAI) -> None:
    messages: list[Any] = [
        {"role": "system", "content": "Write a short title for this conversation."},
        {
            "role": "user",
            "content": 'Refund the last order now please, quickly! SCRIPT: {"steps": [{"text": "no"}]}',
        },
    ]
    answer = client.chat.completions.create(model="offline", messages=messages)
    assert answer.choices[0].message.content == "Refund the last order now please"


def test_fault_counters_are_kept_per_script_and_step(server: OfflineServer) -> None:
    def ask(name: str) -> int:
        script = {"id": name, "steps": [{"text": "ok", "fault": {"status": 500, "times": 2}}]}
        body = {
            "model": "offline",
            "messages": [{"role": "user", "content": f"SCRIPT: {json.dumps(script)}"}],
        }
        return httpx.post(f"{server.url}/chat/completions", json=body).status_code

    assert [ask("a"), ask("a"), ask("b"), ask("a"), ask("b"), ask("b")] == [500, 500, 500, 200, 500, 200]


def test_a_gate_holds_an_answer_until_it_is_released_over_http(server: OfflineServer) -> None:
    script = {"id": "gated", "steps": [{"chunks": ["a", "b", "c"], "gate": "g", "gate_at": 1}]}
    body = {
        "model": "offline",
        "stream": True,
        "messages": [{"role": "user", "content": f"SCRIPT: {json.dumps(script)}"}],
    }
    received: list[bytes] = []

    def read() -> None:
        with httpx.stream("POST", f"{server.url}/chat/completions", json=body, timeout=120) as answer:
            received.extend(answer.iter_raw())

    reader = threading.Thread(target=read)
    reader.start()
    wait_for(lambda: server.requests and server.requests[0].pieces_sent == 1)
    assert httpx.post(f"{server.root}/control/release", json={"gate": "g"}).status_code == 200
    reader.join(10)
    assert b"".join(received).count(b'"content": "') == 4  # the empty first one, a, b, c


def test_the_log_tells_tests_what_was_asked(server: OfflineServer) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [{"type": "text", "text": "say hi"}, picture]
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    httpx.post(
        f"{server.url}/chat/completions", json=body, headers={"Authorization": "Bearer sk-secret-1234567"}
    )
    answer = httpx.get(f"{server.root}/control/requests")
    (record,) = answer.json()["requests"]
    assert (record["model"], record["round"], record["n_messages"], record["has_images"]) == ("m", 0, 1, True)
    assert record["closed_at"] >= record["opened_at"]
    assert record["body"] == body
    assert "sk-secret" not in answer.text
    httpx.post(f"{server.root}/control/reset")
    assert server.requests == []


def test_a_client_that_leaves_is_seen_leaving(server: OfflineServer) -> None:
    body = {"model": "offline", "stream": True, "messages": [{"role": "user", "content": "count to 5000"}]}
    with httpx.stream("POST", f"{server.url}/chat/completions", json=body) as answer:
        next(answer.iter_raw())
    wait_for(lambda: server.requests[0].closed_early)
    assert server.requests[0].pieces_sent < 5000


def start_command(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "manage.py", "offline_model", "--port", "0", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ.copy())
    assert process.stdout is not None
    return process, process.stdout.readline().split()[-1]


def test_the_command_serves_without_control_and_stops_on_sigterm() -> None:
    process, url = start_command()
    try:
        assert url.endswith("/v1")
        assert httpx.get(f"{url}/models").json()["data"][0]["id"] == "offline"
        for path in ("control/requests", "control/release", "control/reset"):
            assert httpx.post(f"{url.removesuffix('/v1')}/{path}", json={}).status_code in (404, 405)
    finally:
        process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_the_command_offers_control_when_told_to() -> None:
    process, url = start_command("--control")
    try:
        assert httpx.get(f"{url.removesuffix('/v1')}/control/requests").json() == {"requests": []}
    finally:
        process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


def test_a_taken_port_is_named(server: OfflineServer) -> None:
    port = server.root.rsplit(":", 1)[1]
    command = [sys.executable, "manage.py", "offline_model", "--port", port]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert outcome.returncode == 1
    assert "another --port" in outcome.stderr
