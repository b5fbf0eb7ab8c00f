"""An agent that an official client has started as a task survives everything: one result, and one charge."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Stack, eventually, running_stack
from tests.mcp_client import TASKS, RawClient
from tests.needs import MCP_CLIENT_PACKAGES, MCP_CLIENTS, mcp_node_program, require
from tests.system.acceptance.test_around_executions import INPUT, OUTPUT, link, node
from tests.system.acceptance.test_mcp_door import make_agent, make_asker, make_echo

MARK = "7e570000-0000-4000-8000-000000000001"
KILLS = int(os.environ.get("MCP_KILLS", "2"))  # ten in the long form
STEPS_PER_KILL = 2
ANSWER_SECONDS = 300


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    require(MCP_CLIENTS)
    marks = short_tmp / "mcp-marks"
    marks.mkdir()
    env = {"COPILOT_TEST_APPS": "tests.testblocks", "COPILOT_TEST_MARKS": str(marks)}
    with running_stack(short_tmp / "mcp-tasks", workers=1, webs=1, env=env, lease_seconds=2.0) as running:
        yield running


class TypeScriptClient:
    """A process of the official client; each line it prints is an object."""

    def __init__(self, stack: Stack, **words: Any) -> None:
        said = {"url": stack.url(), "key": stack.client().key} | words
        self.process = subprocess.Popen(
            [mcp_node_program(), "tasks.mjs", json.dumps(said)],
            cwd=MCP_CLIENT_PACKAGES,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def next(self) -> dict[str, Any]:
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        found: dict[str, Any] = json.loads(line)
        return found

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@pytest.mark.node
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_typescript_client_lists_and_calls_in_both_eras(stack: Stack, mode: str) -> None:
    echo = make_echo(stack, f"Echo {mode}")
    client = TypeScriptClient(stack, action="call", mode=mode, tool=echo, args={"text": "Ping"})
    found = client.next()
    client.kill()
    assert found["era"] == ("legacy" if mode == "legacy" else "modern")
    assert found["result"]["structuredContent"]["outputs"] == {"said": "Ping"}
    assert {echo, "ask_copilot"} <= set(found["tools"])


@pytest.mark.node
@pytest.mark.chaos
def test_task_outlives_killed_workers_web_process_and_client(stack: Stack) -> None:
    steps = KILLS * STEPS_PER_KILL + 2
    tool = make_chain(stack, "Long work", steps)
    client = TypeScriptClient(stack, action="start", tool=tool, args={"text": "Kept"})
    begun = client.next()
    client.kill()
    assert begun["kind"] == "task"
    for kill in range(1, KILLS + 1):
        eventually(lambda kill=kill: done_steps(stack) >= kill * STEPS_PER_KILL - 1, what=f"kill {kill}")  # type: ignore[misc]
        stack.kill(f"worker{kill - 1}")
        if kill == 1:
            stack.kill("web0")
            stack.start_web(0)
        stack.start_worker(kill)
    client = TypeScriptClient(stack, action="resume", reference=begun["reference"])
    assert client.next()["reference"] is not None
    result = client.next()["result"]
    client.kill()
    assert result["structuredContent"]["status"] == "COMPLETED"
    assert result["structuredContent"]["outputs"] == {"said": "Kept"}
    row = uuid.UUID(result["structuredContent"]["execution_id"]).hex
    assert stack.sql("SELECT id FROM executions_execution WHERE client_id LIKE '%mcp:%' AND cost > 0") == [
        (row,)
    ]
    charges = stack.sql("SELECT key FROM accounts_ledgerentry WHERE job_id = ?", row)
    assert len(charges) == len(set(charges)) == steps
    attempts = stack.sql("SELECT attempt FROM executions_execution WHERE id = ?", row)
    assert attempts[0][0] >= 2


def make_chain(stack: Stack, name: str, steps: int) -> str:
    nodes = [node("in", INPUT, name="text"), node("out", OUTPUT, name="said")]
    nodes += [node(f"step{number}", MARK, seconds=1) for number in range(steps)]
    links = [link("in", "result", "step0", "value"), link(f"step{steps - 1}", "value", "out", "value")]
    links += [link(f"step{n}", "value", f"step{n + 1}", "value") for n in range(steps - 1)]
    make_agent(stack, name, nodes, links)
    return f"agent__{name.lower().replace(' ', '-')}"


def done_steps(stack: Stack) -> int:
    query = "SELECT count(*) FROM executions_nodeexecution WHERE block_id = ? AND status = 'COMPLETED'"
    return int(stack.sql(query, MARK)[0][0])


@pytest.mark.node
def test_official_client_answers_a_review_of_its_task(stack: Stack) -> None:
    asker = make_asker(stack, "Asker for tasks")
    client = TypeScriptClient(stack, action="start", tool=asker, args={"draft": "Dear all"}, decide=True)
    assert client.next()["kind"] == "task"
    assert client.next() == {"asked": True}
    assert client.next()["result"]["structuredContent"]["outputs"] == {"letter": "Dear all"}
    client.kill()


@pytest.mark.node
def test_review_decided_on_the_site_reaches_the_official_client(stack: Stack) -> None:
    asker = make_asker(stack, "Asker for the site")
    client = TypeScriptClient(stack, action="start", tool=asker, args={"draft": "Dear you"})
    begun = client.next()
    assert client.next() == {"asked": True}
    client.kill()
    http = stack.client().http
    [review] = [found for found in http.get("/api/reviews").json()["results"] if found["data"] == "Dear you"]
    http.post(f"/api/reviews/{review['id']}/decide", json={"approved": True}).raise_for_status()
    client = TypeScriptClient(stack, action="resume", reference=begun["reference"])
    assert client.next()["kind"] == "task"
    assert client.next()["result"]["structuredContent"]["outputs"] == {"letter": "Dear you"}
    client.kill()


def test_task_that_ended_is_there_for_a_client_that_comes_back_late(stack: Stack) -> None:
    client = RawClient(stack.url(), stack.client().key, {"extensions": {TASKS: {}}})
    task = client.call(make_echo(stack, "Echo late"), {"text": "x"})["taskId"]
    eventually(lambda: client.ask("tasks/get", {"taskId": task})["status"] == "completed", what="the end")
    assert client.ask("tasks/get", {"taskId": task})["result"]["structuredContent"]["outputs"] == {
        "said": "x"
    }
