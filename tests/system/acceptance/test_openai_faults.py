"""The OpenAI door while processes die: one turn, one charge per step, and each client has the database's text."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import redis

from tests.harness import Stack, eventually, running_stack
from tests.system.acceptance.test_openai_door import (
    ASKS_WEATHER,
    FLAT_WEATHER,
    PURE,
    charges,
    connect,
    say,
    script,
    stored_text,
    text_in,
    turn_id,
    whole_stream,
)

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    """Without a worker: each test brings those it kills, and leaves none."""
    with running_stack(short_tmp / "openai", workers=0, webs=2) as running:
        yield running


class LiveReader:
    """A client that reads a stream on a thread of its own."""

    def __init__(self, open_stream: Any) -> None:
        self.events: list[Any] = []
        self.failure: BaseException | None = None
        self._open = open_stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            self.events.extend(self._open())
        except (openai.OpenAIError, httpx.HTTPError) as error:
            self.failure = error

    def result(self) -> list[Any]:
        self._thread.join(120)
        assert not self._thread.is_alive()
        if self.failure is not None:
            raise self.failure
        return self.events


def is_dead(stack: Stack, name: str) -> bool:
    return stack.processes[name].poll() is not None


def turns_of(stack: Stack, mark: str) -> list[str]:
    rows = stack.sql(
        "SELECT t.id FROM chat_turn t JOIN chat_message m ON m.turn_id = t.id AND m.role = 'user' "
        f"WHERE m.text LIKE '%{mark}%'"
    )
    return [str(row[0]) for row in rows]


def flush(stack: Stack) -> None:
    redis.Redis(unix_socket_path=str(stack.socket)).flushall()


def check_replay_at_every_event(stack: Stack, events: list[Any]) -> None:
    """Each place resumes to what the uncut stream had, from either web process."""
    response_id = events[-1].response.id
    assert whole_stream(connect(stack), response_id) == events
    for place, event in enumerate(events):
        client = connect(stack, web=place % 2)
        assert whole_stream(client, response_id, event.sequence_number) == events[place + 1 :], place


def test_takeover_closes_the_abandoned_item_and_the_answer_stands(stack: Stack) -> None:
    client = connect(stack)
    mark = uuid.uuid4().hex
    asked = script(
        {"chunks": 30, "delay": 0.02, "tool_calls": [PURE]}, {"chunks": 30, "delay": 0.02}, name=mark
    )
    with stack.worker(0, crash_at="mid_model"):
        live = LiveReader(lambda: client.responses.create(model="copilot", input=asked, stream=True))
        eventually(lambda: is_dead(stack, "worker0"), what="the death of the worker")
        with stack.worker(1):
            events = live.result()
    response = events[-1].response
    assert response.status == "completed"
    assert response.output_text == stored_text(stack, response.id)
    closed = [event.item.status for event in events if event.type == "response.output_item.done"]
    assert closed.count("incomplete") == 1
    assert len(turns_of(stack, mark)) == 1
    assert charges(stack, turn_id(response.id)) == 2
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(set(numbers))
    check_replay_at_every_event(stack, events)
    flush(stack)
    check_replay_at_every_event(stack, events)


def next_event(client: Any, response_id: str, **place: int) -> Any:
    """Resume a response, read one event, and cut the connection."""
    with client.responses.retrieve(response_id, stream=True, **place) as stream:
        return next(iter(stream), None)


def test_client_cut_at_every_event_and_resumed_while_everything_dies(stack: Stack) -> None:
    """The worker is killed in the middle of each step, and either web process in between."""
    mark, gates = uuid.uuid4().hex, [uuid.uuid4().hex, uuid.uuid4().hex]
    steps: list[dict[str, Any]] = [
        {"chunks": [f"{name}{n} " for n in range(8)], "delay": 0.03, "gate": gate, "gate_at": 4}
        for name, gate in zip("ab", gates, strict=True)
    ]
    steps[0]["tool_calls"] = [PURE]
    before_gates = ["a3 ", "b3 "]
    client = connect(stack, max_retries=10)
    workers = 0
    with ExitStack() as running:
        worker = running.enter_context(ExitStack())
        worker.enter_context(stack.worker(workers))
        response_id = client.responses.create(
            model="copilot", input=script(*steps, name=mark), background=True
        ).id
        events = [next_event(client, response_id)]
        while event := next_event(client, response_id, starting_after=events[-1].sequence_number):
            events.append(event)
            if before_gates and text_in([event]).endswith(before_gates[0]):
                worker.close()  # which kills it
                workers += 1
                worker.enter_context(stack.worker(workers))
                before_gates.pop(0)
                stack.release(gates.pop(0))
            if len(events) in (3, 9, 15, 21):
                name = f"web{len(events) % 2}"
                stack.kill(name)
                stack.start_web(int(name[-1]))
    response = events[-1].response
    assert (response.status, workers) == ("completed", 2)
    assert response.output_text == stored_text(stack, response_id)
    closed = [event.item.status for event in events if event.type == "response.output_item.done"]
    assert closed.count("incomplete") == 2
    assert len(turns_of(stack, mark)) == 1
    assert charges(stack, turn_id(response_id)) == 2
    assert len(events) > 30
    check_replay_at_every_event(stack, events)


def test_completion_stream_survives_the_worker_with_the_same_text(stack: Stack) -> None:
    client = connect(stack)
    asked = script({"chunks": 30, "delay": 0.02}, name=uuid.uuid4().hex)
    with stack.worker(0, crash_at="after_model"):
        live = LiveReader(
            lambda: client.chat.completions.create(model="copilot", messages=say(asked), stream=True)
        )
        eventually(lambda: is_dead(stack, "worker0"), what="the death of the worker")
        with stack.worker(1):
            chunks = live.result()
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == stored_text(stack, chunks[0].id)
    assert charges(stack, turn_id(chunks[0].id)) == 1


def test_killed_web_process_and_lost_redis_leave_a_stream_that_resumes(stack: Stack) -> None:
    gate = uuid.uuid4().hex
    asked = script({"chunks": 40, "delay": 0.01, "gate": gate, "gate_at": 20}, name=uuid.uuid4().hex)
    seen: list[Any] = []
    with stack.worker(0):
        stream = connect(stack, web=1).responses.create(model="copilot", input=asked, stream=True)
        for event in stream:
            seen.append(event)
            if len(seen) > 12:
                break
        stack.kill("web1")
        with pytest.raises((openai.OpenAIError, httpx.HTTPError)):
            seen += list(stream)
        flush(stack)
        client = connect(stack)
        response_id = seen[0].response.id
        assert client.responses.retrieve(response_id).status == "in_progress"
        rest = LiveReader(lambda: whole_stream(client, response_id, seen[-1].sequence_number))
        stack.release(gate)
        events = seen + rest.result()
    stack.start_web(1)
    response = events[-1].response
    assert text_in(events) == response.output_text == stored_text(stack, response.id)
    assert charges(stack, turn_id(response.id)) == 1
    flush(stack)
    again = whole_stream(client, response.id)
    assert again == events


def test_retry_of_the_official_client_joins_the_turn(stack: Stack) -> None:
    gate, mark = uuid.uuid4().hex, uuid.uuid4().hex
    asked = script({"text": "Asked once, answered once.", "gate": gate}, name=mark)
    client = connect(stack, web=1, max_retries=8)
    with stack.worker(0):
        answer = LiveReader(lambda: [client.chat.completions.create(model="copilot", messages=say(asked))])
        eventually(lambda: turns_of(stack, mark), what="the turn")
        stack.kill("web1")
        stack.start_web(1)
        stack.release(gate)
        completion = answer.result()[0]
    assert completion.choices[0].message.content == "Asked once, answered once."
    assert len(turns_of(stack, mark)) == 1
    assert charges(stack, turn_id(completion.id)) == 1


def test_client_tool_is_answered_a_day_later_through_another_process(stack: Stack) -> None:
    mark = uuid.uuid4().hex
    asked = script({"tool_calls": [ASKS_WEATHER]}, {"text": "Sunny, a day later."}, name=mark)
    with stack.worker(0, crash_at="operation_started"):
        live = LiveReader(
            lambda: [connect(stack).responses.create(model="copilot", input=asked, tools=[FLAT_WEATHER])]
        )
        eventually(lambda: is_dead(stack, "worker0"), what="the death of the worker")
        with stack.worker(1):
            first = live.result()[0]
    call = next(item for item in first.output if item.type == "function_call")
    stack.kill("web0")
    stack.start_web(0)
    for table, column in (("chat_session", "expires_at"), ("tools_operation", "run_at")):
        earlier = (
            f"UPDATE {table} SET {column} = {column} - interval '25 hours' WHERE {column} IS NOT NULL"
            if stack.database_url
            else f"UPDATE {table} SET {column} = datetime({column}, '-25 hours') WHERE {column} IS NOT NULL"
        )
        stack.sql(earlier)
    output = [{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}]
    client = connect(stack)
    with stack.worker(1):
        second = client.responses.create(model="copilot", input=output, previous_response_id=first.id)
        again = client.responses.create(model="copilot", input=output, previous_response_id=first.id)
    assert second.output_text == "Sunny, a day later."
    assert again.id == second.id
    assert charges(stack, turn_id(second.id)) == charges(stack, turn_id(first.id)) == 1
