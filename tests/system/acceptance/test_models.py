"""Picked models in a whole system: a killed worker, an endpoint that dies in an answer, one added while all runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fork_server import run_command
from tests.harness import START_SECONDS, Stack, eventually, running_stack
from tests.llm.dialect_servers import KEY, Anthropic, Chat, Fault, ModelServer, Script, running

pytestmark = pytest.mark.chaos
CALLS = Script(thoughts=("let me see",), redacted=True, calls=(("call_a", "test_pure", ('{"value": "x"}',)),))
ANSWER = Script(thoughts=("so",), text=("From the ", "big one."))
SMALL = Script(text=("From the small one.",))
ADD_ROW = """
from llm.models import ModelEndpoint
row = ModelEndpoint(name="added", url=%r, model_names=["late"])
row.set_key(%r)
row.save()
"""


@pytest.fixture
def big() -> Iterator[ModelServer]:
    with running(Anthropic()) as server:
        server.play(CALLS, ANSWER)
        yield server


@pytest.fixture
def small() -> Iterator[ModelServer]:
    with running(Chat()) as server:
        server.play(SMALL)
        yield server


@pytest.fixture
def stack(short_tmp: Path, big: ModelServer, small: ModelServer) -> Iterator[Stack]:
    """One web process, the small model as the default and as the fallback; the test starts its workers."""
    endpoints = [
        {"name": "house", "url": small.url, "key": KEY, "models": ["small"]},
        {"name": "far", "url": big.url, "key": KEY, "dialect": "anthropic", "models": ["big"]},
    ]
    env = {
        "COPILOT_ENDPOINTS": json.dumps(endpoints),
        "COPILOT_MODEL": "house/small",
        "COPILOT_FALLBACK_MODEL": "house/small",
        "OPENAI_BASE_URL": "",
        "OPENAI_API_KEY": "",
    }
    with running_stack(short_tmp / "picked", workers=0, env=env) as running_one:
        yield running_one


def test_picks_survive_a_killed_worker_a_dying_endpoint_and_a_row_added_meanwhile(
    stack: Stack, big: ModelServer, small: ModelServer
) -> None:
    client = stack.client()
    session = client.new_session()
    path = f"/api/sessions/{session}"
    assert client.http.patch(path, json={"model": "far/big"}).json()["model"] == "far/big"
    stack.start_worker(1, crash_at="before_next_step")
    turn = client.send(session, "look it up")
    eventually(lambda: stack.processes["worker1"].poll() is not None, what="the crash")
    stack.start_worker(2)
    try:
        ended = client.wait(turn["id"])
        assert (ended["end_reason"], ended["attempt"], ended["model"]) == ("done", 2, "far/big")
        assert big.refusals == [] and "OPAQUE" in str(big.asked[-1].body), "it got back what it gave"
        assert "From the big one." in client.http.get(path).text

        big.faults = [Fault(cut_at=4, times=99)]
        ended = client.wait(client.send(session, "once more")["id"])
        assert (ended["end_reason"], ended["model"]) == ("done", "house/small")
        newest = client.http.get(path).json()["messages"][-1]
        assert newest["content"] == "From the small one.", "nothing of the answer that broke off"
        assert "OPAQUE" not in str([asked.body for asked in small.asked])

        add_row(stack, small.url)
        offers = "/api/models"
        eventually(lambda: "added/late" in client.http.get(offers).text, seconds=30, what="the new model")
        answer = client.http.post(f"{path}/turns", json={"message": "hi", "model": "added/late"})
        assert client.wait(answer.json()["turn"]["id"])["model"] == "added/late"
        assert "late" in [asked.body["model"] for asked in small.asked], (
            "the worker had been running all the time"
        )
    finally:
        stack.kill("worker2")


def add_row(stack: Stack, url: str) -> None:
    """Add an endpoint from another process, as an administrator at another web process does."""
    command = ["shell", "--no-imports", "-c", ADD_ROW % (url, KEY)]
    code, said = run_command(command, environment=stack.environment(), seconds=START_SECONDS)
    assert code == 0, said
