"""The dialects in a whole system: a worker killed between two steps loses nothing that the model wants back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import Stack, eventually, running_stack
from tests.llm.dialect_servers import KEY, PROTOCOLS, ModelServer, Script, running

pytestmark = pytest.mark.chaos
CALLS = Script(
    thoughts=("let me ", "see"),
    redacted=True,
    text=("Looking.",),
    calls=(("call_a", "test_pure", ('{"value"', ': "x"}')), ("call_b", "test_pure", ('{"value": "y"}',))),
)
ANSWER = Script(thoughts=("so",), text=("All ", "done."))


@pytest.fixture(params=["anthropic", "responses"])
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with running(PROTOCOLS[request.param]()) as model:
        model.play(CALLS, ANSWER, ANSWER)
        model.choose = lambda body: None if body.get("tools") else Script(text=("A title.",))
        yield model


@pytest.fixture
def stack(short_tmp: Path, server: ModelServer) -> Iterator[Stack]:
    """One web process; the test starts its workers."""
    name = server.protocol.name
    env = {
        "COPILOT_MODEL": "m",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": KEY,
        "OPENAI_DIALECT": "responses",
    }
    if name == "anthropic":
        env |= {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "OPENAI_DIALECT": ""}
        env |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY}
    with running_stack(short_tmp / name, workers=0, env=env) as running_one:
        yield running_one


def test_worker_killed_between_the_steps_is_taken_over_with_what_the_model_gave(
    stack: Stack, server: ModelServer
) -> None:
    client = stack.client()
    session = client.new_session()
    stack.start_worker(1, crash_at="before_next_step")
    turn = client.send(session, "look it up")
    eventually(lambda: stack.processes["worker1"].poll() is not None, what="the crash")
    stack.start_worker(2)
    try:
        ended = client.wait(turn["id"])
        again = client.wait(client.send(session, "and again")["id"])
    finally:
        stack.kill("worker2")
    assert (ended["end_reason"], ended["attempt"], again["end_reason"]) == ("done", 2, "done")
    assert server.refusals == []
    asked = [request for request in server.asked if request.body.get("tools")]
    assert len(asked) == 3 and "OPAQUE" in str(asked[1].body) and "OPAQUE" in str(asked[2].body)
    paths = [
        f"/api/sessions/{session}",
        f"/api/sessions/{session}/export?as=json",
        f"/api/turns/{turn['id']}",
    ]
    shown = {path: client.http.get(path).text for path in paths}
    shown |= {path.name: path.read_text(errors="replace") for path in stack.home.glob("*.log")}
    assert [name for name, text in shown.items() if "OPAQUE" in text] == []
    assert "All done." in shown[paths[0]] and "let me" in shown[paths[0]]
