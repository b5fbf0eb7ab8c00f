"""A model server that sends what no database takes, workers that are killed meanwhile, and another person beside it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Stack, eventually, running_stack
from tests.services import prepared_database

pytestmark = pytest.mark.chaos

FUNCTION = {"name": "find\x00_block\ud800", "arguments": '{"query": "\x00"}'}
POISON = {
    "tool_calls": [{"index": 0, "id": "c\x00\ud800", "function": FUNCTION}],
    "content": "Poison \x00 said.",
}
USAGE = '{"choices": [], "usage": {"prompt_tokens": 1e30, "completion_tokens": -5, "cost": NaN}}'


def stream(delta: dict[str, Any]) -> bytes:
    chunks = [{"choices": [{"delta": delta}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    lines = [*(json.dumps(chunk) for chunk in chunks), USAGE, "[DONE]"]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


class PoisonedModel(BaseHTTPRequestHandler):
    """Answers the first step of whoever says POISON with it, and everything else with plain words."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        wants_poison = asked[-1]["role"] == "user" and "POISON" in str(asked[-1]["content"])
        body = stream(POISON if wants_poison else {"content": "Plain words."})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Not in the output of tests."""


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), PoisonedModel) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.services)])
def stack(request: pytest.FixtureRequest, short_tmp: Path, model_url: str) -> Iterator[Stack]:
    """Without a worker, on a database of its own; an empty address is the stack's own SQLite."""
    with ExitStack() as around:
        url, keys = "", dict[str, str]()
        if request.param == "postgresql":
            url, keys = around.enter_context(prepared_database())
        home, env = short_tmp / f"poison-{request.param}", {"OPENAI_BASE_URL": model_url}
        yield around.enter_context(running_stack(home, workers=0, database_url=url, keys=keys, env=env))


@pytest.mark.parametrize("point", ["after_model", "after_step_commit"])
def test_poison_and_kill_end_visibly_and_harm_nobody(stack: Stack, point: str) -> None:
    ann, bob = stack.client("ann"), stack.client("bob")
    sessions = ann.new_session(), bob.new_session()
    with stack.worker(1, crash_at=point):
        poisoned = ann.send(sessions[0], "POISON")
        eventually(lambda: stack.processes["worker1"].poll() is not None, what=f"the crash {point}")
    innocent = bob.send(sessions[1], "Hello")
    with stack.worker(2):
        assert bob.wait(innocent["id"])["end_reason"] == "done"
        assert ann.wait(poisoned["id"])["end_reason"] == "done", stack.log("worker2", 200)
    assert "Poison \ufffd said." in ann.answer(sessions[0])["content"]
    assert "Plain words." in bob.answer(sessions[1])["content"]
