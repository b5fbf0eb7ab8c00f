"""Any OpenAI client talks to the copilot under /v1; the official Python client checks every answer strictly."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as websocket

from tests.harness import Stack, as_text, eventually
from tests.needs import CLIENT_PACKAGES, CLIENTS, NODE, node_program, require
from tests.system.acceptance.test_around_executions import ASK, INPUT, OUTPUT, link, node

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
FLAT_WEATHER: dict[str, Any] = {"type": "function", "strict": False, **WEATHER["function"]}
ASKS_WEATHER = {"name": "get_weather", "arguments": {"city": "Oslo"}}


def connect(stack: Stack, *, web: int = 0, person: str = "ann", **options: Any) -> Any:
    key = stack.client(person).key
    return OpenAI(
        api_key=key,
        base_url=f"{stack.url(web)}/v1",
        _strict_response_validation=True,
        **({"max_retries": 0, "timeout": 60.0} | options),
    )


def script(*steps: dict[str, Any], name: str = "") -> str:
    return as_text({"id": name or f"v1-{uuid.uuid4().hex[:8]}", "steps": list(steps)})


def say(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def charges(stack: Stack, row_id: str) -> int:
    return int(
        stack.sql("SELECT count(*) FROM accounts_ledgerentry WHERE job_id = ?", uuid.UUID(row_id).hex)[0][0]
    )


def turn_id(response_id: str) -> str:
    return str(uuid.UUID(hex=response_id.removeprefix("resp_").removeprefix("chatcmpl-")))


# --- models and errors ----------------------------------------------------------------------------


def test_models_are_listed_and_found_by_name(stack: Stack) -> None:
    client = connect(stack)
    names = [model.id for model in client.models.list()]
    assert names[0] == "copilot"
    assert client.models.retrieve("copilot").id == "copilot"
    for name in names:
        assert client.models.retrieve(name).id == name
    with pytest.raises(openai.NotFoundError) as error:
        client.models.retrieve("gpt-4o")
    assert error.value.code == "model_not_found"


def test_errors_have_the_shape_of_openai(stack: Stack) -> None:
    with pytest.raises(openai.AuthenticationError) as unknown:
        connect(stack).with_options(api_key="rk_wrong").models.list()
    assert unknown.value.code == "invalid_api_key"
    client = connect(stack)
    with pytest.raises(openai.NotFoundError) as model:
        client.chat.completions.create(model="gpt-4o", messages=say("hello"))
    assert (model.value.code, model.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.BadRequestError) as field:
        client.chat.completions.create(model="copilot", messages=say("hello"), n=2)
    assert (field.value.param, field.value.code) == ("n", "unsupported_parameter")
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_" + uuid.uuid4().hex)
    http = stack.client().http
    missing = http.get("/v1/nothing/here")
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "invalid_request_error")
    assert http.put("/v1/models").status_code == 405
    assert http.get("/v1/models").headers["x-request-id"]
    assert client.models.list()._request_id


def test_no_cookie_opens_the_door(stack: Stack) -> None:
    with httpx.Client(base_url=stack.url(), cookies={"sessionid": "anything"}) as http:
        refused = http.get("/v1/models")
    assert refused.status_code == 401
    assert refused.json()["error"]["code"] == "invalid_api_key"
    assert "set-cookie" not in refused.headers


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"model":"copilot","messages":"hello"}',
        b'{"model":"copilot","messages":[]}',
        b'{"model":"copilot","messages":[{"role":"user","content":"\\u0000"}]}',
        b'{"model":"copilot","messages":[{"role":"user","content":"\\ud800"}]}',
        b'{"model":"copilot","messages":[{"role":"robot","content":"x"}]}',
        b'{"model":"copilot","messages":[{"role":"user","content":[{"type":"video"}]}]}',
        b'{"model":"copilot","messages":[{"role":"user","content":"x"}],"temperature":NaN}',
        b'{"model":"copilot","messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search"}]}',
        b'{"model":"copilot","messages":[{"role":"tool","content":"x"}]}',
        b'{"model":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
    ids=lambda body: body[:60].decode("latin-1"),
)
def test_bad_input_is_refused_in_openais_shape(stack: Stack, body: bytes) -> None:
    http = stack.client().http
    for path in ("/v1/chat/completions", "/v1/responses"):
        answer = http.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400, answer.text
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    large = http.post("/v1/chat/completions", content=b" " * (6 * 1024 * 1024))
    assert large.status_code == 413
    assert large.json()["error"]["code"] == "request_too_large"


# --- chat completions -----------------------------------------------------------------------------


def test_completion_is_answered_whole_and_as_a_stream(stack: Stack) -> None:
    client = connect(stack)
    asked = script({"text": "Hello from /v1.", "delay": 0.005})
    whole = client.chat.completions.create(model="copilot", messages=say(asked))
    assert whole.choices[0].message.content == "Hello from /v1."
    assert whole.choices[0].finish_reason == "stop"
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens > 0
    chunks = list(
        client.chat.completions.create(
            model="copilot", messages=say(asked), stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "Hello from /v1."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].choices == []
    assert charges(stack, turn_id(chunks[0].id)) == 1


def test_conversation_without_a_name_goes_on_by_its_messages_and_is_not_listed(stack: Stack) -> None:
    client = connect(stack, person="bob")
    before = {row["id"] for row in stack.client("bob").http.get("/api/sessions").json()["results"]}
    first = client.chat.completions.create(model="copilot", messages=say(script({"text": "One."})))
    messages = [
        *say(script_of(stack, first.id)),
        {"role": "assistant", "content": "One."},
        *say(script({"text": "Two."})),
    ]
    second = client.chat.completions.create(model="copilot", messages=messages)
    assert second.choices[0].message.content == "Two."
    assert session_of(stack, first.id) == session_of(stack, second.id)
    messages[1]["content"] = "Something else."  # a history that is nobody's is taken as it is
    third = client.chat.completions.create(model="copilot", messages=[*messages[:2], *say("hello again")])
    assert session_of(stack, third.id) != session_of(stack, first.id)
    sent = [request for request in stack.model_requests() if "hello again" in json.dumps(request)]
    assert "Something else." in json.dumps(sent[-1])
    after = {row["id"] for row in stack.client("bob").http.get("/api/sessions").json()["results"]}
    assert before == after


def script_of(stack: Stack, completion_id: str) -> str:
    rows = stack.sql(
        "SELECT text FROM chat_message WHERE role = 'user' AND turn_id = ?",
        uuid.UUID(turn_id(completion_id)).hex,
    )
    return str(rows[0][0])


def session_of(stack: Stack, answer_id: str) -> str:
    rows = stack.sql("SELECT session_id FROM chat_turn WHERE id = ?", uuid.UUID(turn_id(answer_id)).hex)
    return str(rows[0][0])


def test_instructions_format_and_choice_reach_the_model(stack: Stack) -> None:
    client = connect(stack)
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    mark = uuid.uuid4().hex
    client.chat.completions.create(
        model="copilot",
        messages=[
            {"role": "system", "content": f"Speak like a pirate {mark}."},
            *say(script({"text": '{"a": 1}'})),
        ],
        response_format={"type": "json_schema", "json_schema": {"name": "thing", "schema": schema}},
        temperature=0.5,
        max_completion_tokens=77,
        tools=[WEATHER],
        tool_choice="required",
        extra_body={"unknown_field": "is ignored"},
    )
    sent = next(request["body"] for request in stack.model_requests() if mark in json.dumps(request))
    assert sent["response_format"]["json_schema"]["schema"] == schema
    assert sent["tool_choice"] == "required"
    assert sent["temperature"] == 0.5
    assert 77 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
    assert "get_weather" in [tool["function"]["name"] for tool in sent["tools"]]
    assert len(sent["tools"]) > 1  # ours stand beside it


def test_client_tool_is_answered_once_by_the_next_request(stack: Stack) -> None:
    client = connect(stack)
    asked = script({"text": "Let me look.", "tool_calls": [ASKS_WEATHER]}, {"text": "It is sunny in Oslo."})
    first = client.chat.completions.create(model="copilot", messages=say(asked), tools=[WEATHER])
    choice = first.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls
    call = choice.message.tool_calls[0]
    assert call.type == "function"
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Oslo"})
    answered = [
        *say(asked),
        choice.message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
    ]
    other = connect(stack, web=1)
    with ThreadPoolExecutor(4) as pool:
        results = list(
            pool.map(
                lambda _: other.chat.completions.create(model="copilot", messages=answered, tools=[WEATHER]),
                range(4),
            )
        )
    assert {result.choices[0].message.content for result in results} == {"It is sunny in Oslo."}
    assert len({result.id for result in results}) == 1
    assert charges(stack, turn_id(results[0].id)) == 1
    streamed = list(
        client.chat.completions.create(model="copilot", messages=say(asked), tools=[WEATHER], stream=True)
    )
    deltas = [call for chunk in streamed for call in chunk.choices[0].delta.tool_calls or ()]
    assert deltas[0].function is not None
    assert deltas[0].function.name == "get_weather"
    pieces = "".join(delta.function.arguments or "" for delta in deltas if delta.function)
    assert json.loads(pieces) == {"city": "Oslo"}
    with pytest.raises(openai.BadRequestError) as missing:
        client.chat.completions.create(
            model="copilot",
            messages=[
                *answered,
                {"role": "tool", "tool_call_id": f"call_{uuid.uuid4().hex}", "content": "x"},
            ],
            tools=[WEATHER],
        )
    assert "No tool call found" in missing.value.message


def test_repeated_requests_are_one_turn(stack: Stack) -> None:
    client = connect(stack)
    asked = script({"text": "Only once.", "delay": 0.01})
    key = {"Idempotency-Key": uuid.uuid4().hex}
    with ThreadPoolExecutor(6) as pool:
        found = list(
            pool.map(
                lambda _: client.chat.completions.create(
                    model="copilot", messages=say(asked), extra_headers=key
                ),
                range(6),
            )
        )
    assert len({completion.id for completion in found}) == 1
    retried = {"x-stainless-retry-count": "1"}
    body = {"model": "copilot", "messages": say(script({"text": "Again."}))}
    http = stack.client().http
    first = http.post("/v1/chat/completions", json=body).json()
    again = http.post("/v1/chat/completions", json=body, headers=retried).json()
    new = http.post("/v1/chat/completions", json=body).json()
    assert first["id"] == again["id"] != new["id"]
    with pytest.raises(openai.BadRequestError) as reused:
        client.chat.completions.create(model="copilot", messages=say("other"), extra_headers=key)
    assert reused.value.code == "idempotency_key_reused"


def test_doubled_posts_to_two_web_processes_are_one_response(stack: Stack) -> None:
    asked = script({"text": "Only one.", "delay": 0.02})
    key = {"Idempotency-Key": uuid.uuid4().hex}

    def post(number: int) -> tuple[str, str]:
        client = connect(stack, web=number % 2)
        answer = client.responses.create(model="copilot", input=asked, extra_headers=key, stream=True)
        last = list(answer)[-1].response
        return last.id, last.output_text

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(post, range(8)))
    [(response_id, text)] = found
    assert text == "Only one." == stored_text(stack, response_id)
    assert charges(stack, turn_id(response_id)) == 1


def test_budget_that_is_used_up_is_429_insufficient_quota_on_every_path(stack: Stack) -> None:
    made = stack.client("cay").http.post("/api/keys", json={"name": "poor", "day_limit": "0"}).json()
    poor = connect(stack).with_options(api_key=made["key"])
    attempts: list[Callable[[], Any]] = [
        lambda: poor.chat.completions.create(model="copilot", messages=say("hello")),
        lambda: poor.chat.completions.create(model="copilot", messages=say("hello"), stream=True),
        lambda: poor.responses.create(model="copilot", input="hello"),
        lambda: poor.responses.create(model="copilot", input="hello", background=True),
    ]
    for attempt in attempts:
        with pytest.raises(openai.RateLimitError) as spent:
            attempt()
        assert (spent.value.code, spent.value.type) == ("insufficient_quota", "insufficient_quota")
    headers = {"Authorization": f"Bearer {made['key']}"}
    with websocket(f"{stack.url().replace('http', 'ws')}/v1/responses", additional_headers=headers) as socket:
        socket.send('{"type": "response.create", "model": "copilot", "input": "hello"}')
        assert json.loads(socket.recv(timeout=60))["error"]["code"] == "insufficient_quota"
    rich = connect(stack, person="cay").chat.completions.create(model="copilot", messages=say("hello"))
    assert rich.choices[0].message.content  # another key of the same person


def test_budget_of_the_person_is_429_insufficient_quota(stack: Stack) -> None:
    person = stack.sql("SELECT id FROM accounts_user WHERE username = 'bob'")[0][0]
    stack.sql("INSERT INTO accounts_budget (user_id, day_limit) VALUES (?, 0)", person)
    try:
        with pytest.raises(openai.RateLimitError) as spent:
            connect(stack, person="bob").responses.create(model="copilot", input="hello")
        assert spent.value.code == "insufficient_quota"
    finally:
        stack.sql("DELETE FROM accounts_budget WHERE user_id = ?", person)


# --- responses ------------------------------------------------------------------------------------


def whole_stream(client: Any, response_id: str, after: int | None = None) -> list[Any]:
    more = {} if after is None else {"starting_after": after}
    return list(client.responses.retrieve(response_id, stream=True, **more))


def text_in(events: list[Any]) -> str:
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def stored_text(stack: Stack, response_id: str) -> str:
    rows = stack.sql(
        "SELECT m.text FROM chat_message m JOIN chat_turn t ON t.answer_id = m.id WHERE t.id = ?",
        uuid.UUID(turn_id(response_id)).hex,
    )
    return str(rows[0][0])


def test_response_is_whole_and_goes_on_by_its_id(stack: Stack) -> None:
    client = connect(stack)
    asked = script({"reasoning": "Hm.", "text": "First.", "tool_calls": [PURE]}, {"text": " Second."})
    first = client.responses.create(
        model="copilot", input=asked, instructions="Be brief.", metadata={"a": "b"}, temperature=0.1
    )
    assert (first.status, first.output_text) == ("completed", "First. Second.")
    assert first.metadata == {"a": "b"}
    assert first.usage is not None
    assert [item.type for item in first.output] == ["reasoning", "message", "reasoning", "message"]
    assert "Used test_pure." in first.output[2].model_dump_json()
    again = client.responses.retrieve(first.id)
    assert again == first
    items = list(client.responses.input_items.list(first.id))
    assert [item.content[0].text for item in items] == [asked]
    second = client.responses.create(
        model="copilot", input=script({"text": "Next."}), previous_response_id=first.id
    )
    assert second.output_text == "Next."
    assert second.previous_response_id == first.id
    assert session_of(stack, first.id) == session_of(stack, second.id)
    fork = client.responses.create(model="copilot", input="hello fork", previous_response_id=first.id)
    assert session_of(stack, fork.id) != session_of(stack, first.id)
    sent = next(request for request in stack.model_requests() if "hello fork" in json.dumps(request))
    assert "First." in json.dumps(sent)
    assert "Next." not in json.dumps(sent)
    assert client.responses.delete(fork.id) is None
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(fork.id)


PURE = {"name": "test_pure", "arguments": {"value": "x"}}


def test_stream_has_the_order_of_openai_and_any_cut_resumes_to_the_same(stack: Stack) -> None:
    client = connect(stack)
    asked = script(
        {"reasoning": "Let me think.", "text": "One. ", "tool_calls": [PURE], "delay": 0.002},
        {"text": 'Two äöü \u2028 and \\ "three".\n', "delay": 0.002},
    )
    live = list(client.responses.create(model="copilot", input=asked, stream=True))
    kinds = [event.type for event in live]
    assert kinds[:3] == ["response.created", "response.queued", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert kinds.count("response.output_item.added") == kinds.count("response.output_item.done") == 4
    numbers = [event.sequence_number for event in live]
    assert numbers == sorted(set(numbers))
    response = live[-1].response
    assert text_in(live) == response.output_text == stored_text(stack, response.id)
    assert whole_stream(client, response.id) == live
    for place, event in enumerate(live):
        assert whole_stream(client, response.id, event.sequence_number) == live[place + 1 :], place
    with client.responses.stream(response_id=response.id, starting_after=numbers[4]) as helper:
        assert [event.sequence_number for event in helper] == numbers[5:]
        assert helper.get_final_response().output_text == response.output_text


def test_background_response_can_be_fetched_streamed_and_cancelled_twice(stack: Stack) -> None:
    client = connect(stack)
    gate = uuid.uuid4().hex
    asked = script({"text": "Held back for long.", "gate": gate, "gate_at": 2})
    started = client.responses.create(model="copilot", input=asked, background=True)
    assert started.status in ("queued", "in_progress")
    eventually(
        lambda: client.responses.retrieve(started.id).status == "in_progress", what="the running response"
    )
    other = connect(stack, web=1)
    cancelled = other.responses.cancel(started.id)
    assert cancelled.status == "cancelled"
    assert other.responses.cancel(started.id) == cancelled
    events = whole_stream(client, started.id)
    assert events[-1].type == "response.incomplete"
    assert events[-1].response.status == "cancelled"
    assert client.responses.retrieve(started.id).status == "cancelled"
    finished = client.responses.create(model="copilot", input=script({"text": "Done."}), background=True)
    eventually(lambda: client.responses.retrieve(finished.id).status == "completed", what="the response")
    assert client.responses.retrieve(finished.id).output_text == "Done."


def test_conversation_is_a_session_that_our_own_page_shows(stack: Stack) -> None:
    client, own = connect(stack), stack.client()
    session = own.new_session()
    answered = client.responses.create(
        model="copilot", input=script({"text": "Through the door."}), conversation=session
    )
    assert own.answer(session)["content"] == "Through the door."
    assert answered.conversation is not None
    assert answered.conversation.id == f"conv_{session.replace('-', '')}"
    with pytest.raises(openai.BadRequestError):
        client.responses.create(model="copilot", input="x", conversation=f"conv_{uuid.uuid4().hex}")
    with pytest.raises(openai.BadRequestError) as unknown:
        client.responses.create(model="copilot", input="x", previous_response_id=f"resp_{uuid.uuid4().hex}")
    assert unknown.value.code == "previous_response_not_found"
    with pytest.raises(openai.NotFoundError):  # somebody else's
        connect(stack, person="bob").responses.retrieve(answered.id)


def test_function_call_of_a_response_is_answered_by_the_next(stack: Stack) -> None:
    client = connect(stack)
    calls = [ASKS_WEATHER, {"name": "get_weather", "arguments": {"city": "Rome"}}]
    asked = script({"tool_calls": calls}, {"text": "Both are sunny."})
    events = list(client.responses.create(model="copilot", input=asked, tools=[FLAT_WEATHER], stream=True))
    first = events[-1].response
    made = [item for item in first.output if item.type == "function_call"]
    assert [json.loads(item.arguments)["city"] for item in made] == ["Oslo", "Rome"]
    assert whole_stream(client, first.id) == events
    answers = [{"type": "function_call_output", "call_id": item.call_id, "output": "sunny"} for item in made]
    with pytest.raises(openai.BadRequestError) as missing:
        client.responses.create(model="copilot", input=answers[:1], previous_response_id=first.id)
    assert made[1].call_id in missing.value.message
    with pytest.raises(openai.BadRequestError) as ignored:
        client.responses.create(model="copilot", input="never mind", previous_response_id=first.id)
    assert any(item.call_id in ignored.value.message for item in made)
    second = client.responses.create(model="copilot", input=answers, previous_response_id=first.id)
    assert second.output_text == "Both are sunny."
    again = client.responses.create(model="copilot", input=answers, previous_response_id=first.id)
    assert again.id == second.id


# --- agents as models, websocket, embeddings --------------------------------------------------------


def test_agent_is_a_model_that_takes_the_text_as_its_input(stack: Stack) -> None:
    client, http = connect(stack), stack.client().http
    made = http.post("/api/agents", json=echo_agent("Echo for clients"))
    assert made.status_code == 201, made.text
    assert "agent/echo-for-clients" in [model.id for model in client.models.list()]
    answer = client.chat.completions.create(model="agent/echo-for-clients", messages=say("Ping"))
    assert answer.choices[0].message.content == "Ping"
    response = client.responses.create(model="agent/echo-for-clients", input='{"text": "As JSON"}')
    assert (response.status, response.output_text) == ("completed", "As JSON")
    events = list(client.responses.create(model="agent/echo-for-clients", input="Streamed", stream=True))
    assert events[-1].response.output_text == text_in(events) == "Streamed"
    assert client.responses.retrieve(events[-1].response.id).output_text == "Streamed"
    again = whole_stream(client, events[-1].response.id)
    assert again == events
    for place, event in enumerate(events):
        assert whole_stream(client, events[-1].response.id, event.sequence_number) == events[place + 1 :]


def test_review_ends_the_response_as_incomplete_and_says_what_to_decide(stack: Stack) -> None:
    client, http = connect(stack), stack.client().http
    nodes = [
        node("in", INPUT, name="draft"),
        node("ask", ASK, name="The letter"),
        node("out", OUTPUT, name="letter"),
    ]
    links = [link("in", "result", "ask", "data"), link("ask", "approved_data", "out", "value")]
    made = http.post(
        "/api/agents", json={"name": "Asks first", "description": "", "nodes": nodes, "links": links}
    )
    assert made.status_code == 201, made.text
    waiting = client.responses.create(model="agent/asks-first", input="Dear all")
    assert waiting.status == "incomplete"
    assert "The letter" in waiting.output_text
    review = http.get("/api/reviews").json()["results"][0]
    http.post(f"/api/reviews/{review['id']}/decide", json={"approved": True}).raise_for_status()
    eventually(lambda: client.responses.retrieve(waiting.id).status == "completed", what="the agent's end")
    assert client.responses.retrieve(waiting.id).output_text == "Dear all"


def echo_agent(name: str) -> dict[str, Any]:
    nodes = [node("in", INPUT, name="text"), node("out", OUTPUT, name="said")]
    links = [link("in", "result", "out", "value")]
    return {"name": name, "description": "", "nodes": nodes, "links": links}


def test_websocket_creates_and_steers(stack: Stack) -> None:
    gate = uuid.uuid4().hex
    asked = script({"text": "Before.", "tool_calls": [PURE], "gate": gate}, {"text": " Not steered."})
    more = script({"text": " After steering."})
    url = f"{stack.url().replace('http', 'ws')}/v1/responses"
    headers = {"Authorization": f"Bearer {stack.client().key}"}
    with websocket(url, additional_headers=headers) as socket:
        socket.send(json.dumps({"type": "response.create", "model": "copilot", "input": asked}))
        first = [json.loads(socket.recv(timeout=60)) for _ in range(3)]
        assert [event["type"] for event in first] == [
            "response.created",
            "response.queued",
            "response.in_progress",
        ]
        name = first[0]["response"]["id"]
        steer = {"type": "response.steer", "previous_response_id": name, "input": more}
        socket.send(json.dumps(steer))
        accepted = json.loads(socket.recv(timeout=60))
        while accepted["type"] != "response.steer.accepted":
            accepted = json.loads(socket.recv(timeout=60))
        assert accepted["steer"]["previous_response_id"] == name
        stack.release(gate)
        events = [json.loads(socket.recv(timeout=60))]
        while events[-1]["type"] != "response.completed":
            events.append(json.loads(socket.recv(timeout=60)))
        socket.send(json.dumps(steer))
        late = json.loads(socket.recv(timeout=60))
        assert (late["type"], late["error"]["code"]) == (
            "response.steer.failed",
            "response_already_completed",
        )
        socket.send('{"type": "response.create", "model": "copilot"}')
        refused = json.loads(socket.recv(timeout=60))
        assert (refused["type"], refused["error"]["param"]) == ("error", "input")
    whole = connect(stack).responses.retrieve(name)
    assert whole.output_text == "Before. After steering."
    with pytest.raises(InvalidStatus), websocket(url):
        pytest.fail("a socket without a key was opened")


def test_embeddings_that_the_model_server_lacks_are_refused_in_openais_shape(stack: Stack) -> None:
    client = connect(stack)
    with pytest.raises(openai.BadRequestError) as refused:
        client.embeddings.create(model="text-embedding-3-small", input="hello")
    assert "model server" in refused.value.message
    with pytest.raises(openai.BadRequestError) as empty:
        client.embeddings.create(model="text-embedding-3-small", input=[])
    assert empty.value.param == "input"


# --- the official client for Node -------------------------------------------------------------------


def test_node_client_over_every_path_and_resumed_at_every_event(stack: Stack) -> None:
    require(NODE, CLIENTS)
    plain = script({"reasoning": "Hm.", "text": "From Node with äöü.", "delay": 0.002})
    calling = script({"tool_calls": [ASKS_WEATHER]}, {"text": "It is sunny."})
    command = [node_program(), "openai.mjs", f"{stack.url()}/v1", stack.client().key, plain, calling]
    ran = subprocess.run(
        command, cwd=CLIENT_PACKAGES, capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stderr
    saw = json.loads(ran.stdout.splitlines()[-1])
    assert saw["models"][0] == "copilot"
    text = "From Node with äöü."
    assert (saw["whole"], saw["streamed"], saw["response"], saw["helper"]) == (text, text, text, text)
    assert saw["tools"] == "It is sunny."
    assert saw["kinds"][-1] == "response.completed"
    assert saw["resumed"] and saw["usage"] and saw["cancelled"] and saw["deleted"]
    assert saw["background"] in ("queued", "in_progress")
    assert saw["items"] == 1
    assert saw["refused"] == "model_not_found"
