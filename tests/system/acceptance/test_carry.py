"""Models that want back what they gave: a worker killed between the steps loses none of it, and nobody is shown it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.harness import SETTLE_SECONDS, Client, Reader, Stack, eventually, running_stack
from tests.strict_model import CANARY, StrictModel

pytestmark = pytest.mark.chaos


@pytest.fixture(scope="module")
def strict() -> Iterator[StrictModel]:
    with StrictModel() as server:
        yield server


@pytest.fixture(scope="module")
def stack(short_tmp: Path, strict: StrictModel) -> Iterator[Stack]:
    """One web process; the test starts its workers. The model gives what each of the providers gives, all at once."""
    env = {"OPENAI_BASE_URL": strict.url, "COPILOT_MODEL": "all", "COPILOT_TITLE_MODEL": "other"}
    with running_stack(short_tmp / "carry", workers=0, env=env) as running:
        yield running


def test_worker_killed_between_the_steps_is_taken_over_with_the_carry(
    stack: Stack, strict: StrictModel
) -> None:
    client = stack.client()
    session = client.new_session()
    stack.start_worker(1, crash_at="before_next_step")
    turn = client.send(session, "look it up")
    eventually(lambda: stack.processes["worker1"].poll() is not None, what="the crash")
    asked = len(strict.bodies)
    stack.start_worker(2)
    try:
        ended = client.wait(turn["id"])
        frames = ask_over_websocket(stack, client, session, "look again")
    finally:
        stack.kill("worker2")
    assert (ended["end_reason"], strict.refusals) == ("done", [])
    assert any('"finish"' in frame for frame in frames) and CANARY not in "".join(frames)
    assert ended["attempt"] == 2
    kept = strict.bodies[asked]["messages"][-3]  # two results follow the step that the dead worker committed
    assert kept["role"] == "assistant" and len(kept["tool_calls"]) == 2
    look_everywhere(stack, client, session, turn["id"])


def look_everywhere(stack: Stack, client: Client, session: str, turn: str) -> None:
    """Nothing that a client or whoever reads the logs can reach shows the canary."""
    paths = [
        f"/api/sessions/{session}",
        f"/api/sessions/{session}/export?as=json",
        f"/api/sessions/{session}/export?as=markdown",
        f"/api/turns/{turn}",
        "/api/sessions",
    ]
    answers = {path: client.http.get(path) for path in paths}
    assert all(answer.is_success and answer.text for answer in answers.values()), answers
    shown = {path: answer.text for path, answer in answers.items()}
    shown["stream"] = json.dumps(Reader(client, turn).read_to_end().steps)
    shown |= {path.name: path.read_text(errors="replace") for path in stack.home.glob("*.log")}
    shown["turns"] = str(stack.sql("SELECT * FROM chat_turn"))
    assert [name for name, text in shown.items() if CANARY in text] == []
    assert "tool-output-available" in shown["stream"] and "Answer" in shown["stream"]


def ask_over_websocket(stack: Stack, client: Client, session: str, text: str) -> list[str]:
    """Send a message and hear its turn to the end, as an AI SDK client does."""
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}
    sent = {"type": "send", "requestId": "r1", "id": session, "messages": [message]}
    headers = {"Authorization": f"Bearer {client.key}"}
    frames: list[str] = []
    with connect(f"{stack.url()}/ws/chat/".replace("http", "ws", 1), additional_headers=headers) as socket:
        socket.send(json.dumps(sent))
        while not frames or json.loads(frames[-1])["type"] != "end":
            frames.append(str(socket.recv(timeout=SETTLE_SECONDS)))
    return frames
