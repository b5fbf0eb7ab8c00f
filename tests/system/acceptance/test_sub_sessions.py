"""Tasks handed to sub-sessions, from outside: one worker thread, room for one turn, and whatever dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.executions.engine.graphs import agent_json
from tests.harness import Client, Stack, as_text, eventually, running_stack

pytestmark = pytest.mark.chaos
LIMITS = {"COPILOT_MAX_RUNNING_TURNS_PER_USER": "1"}


@pytest.fixture(scope="module")
def narrow(short_tmp: Path) -> Iterator[Stack]:
    """The least there can be: whoever waits must make way, or nothing goes on."""
    with running_stack(short_tmp / "narrow", workers=0, env=LIMITS) as stack:
        stack.start_worker(0, threads=1)
        stack.wait_ready(1)
        yield stack


def delegate(task: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    arguments = {"prompt": as_text(task), **more}
    return {"tool_calls": [{"id": "c1", "name": "run_sub_session", "arguments": arguments}]}


def children(client: Client, session: str) -> list[dict[str, Any]]:
    found = client.http.get("/api/sessions").json()["results"]
    return [one for one in found if one["parent"] == session]


def only_child(client: Client, session: str) -> dict[str, Any] | None:
    found = children(client, session)
    assert len(found) < 2
    return found[0] if found and client.session(found[0]["id"])["active_turn"] else None


def tool_output(client: Client, session: str) -> dict[str, Any]:
    messages = [message for message in client.session(session)["messages"] if message["role"] == "assistant"]
    parts = [part for message in messages for part in message["parts"] if part["type"].startswith("tool-")]
    output: dict[str, Any] = parts[0]["output"]
    return output


def answers(client: Client, session: str) -> list[str]:
    """What was said, once all of it is there; the status is read after the messages."""
    shown = client.session(session)
    said = [message["content"] for message in shown["messages"] if message["role"] == "assistant"]
    return said if shown["status"] == "idle" and all(said) else []


def test_three_levels_go_through_one_thread_and_one_place(narrow: Stack) -> None:
    client = narrow.client()
    session = client.new_session()
    grandchild = {"steps": [{"text": "from the deep"}]}
    child = {"steps": [delegate(grandchild), {"text": "I heard: from the deep"}]}
    turn = client.send(session, {"steps": [delegate(child), {"text": "Well done."}]})
    assert client.wait(turn["id"])["end_reason"] == "done"
    output = tool_output(client, session)
    assert (output["status"], output["response"]) == ("completed", "I heard: from the deep")
    assert client.session(output["sub_session_id"])["status"] == "idle"
    assert output["link"] == f"/c/{output['sub_session_id']}"


def test_the_parents_stream_shows_what_the_child_does(narrow: Stack) -> None:
    client = narrow.client()
    session = client.new_session()
    gate = f"watched-{session}"
    child = {"id": gate, "steps": [{"text": "Looking around.", "gate": gate}]}
    turn = client.send(session, {"steps": [delegate(child), {"text": "Seen."}]})
    seen: list[str] = []
    for _, chunk in client.events(turn["id"]):
        if chunk["type"] == "tool-output-available" and chunk.get("preliminary"):
            seen.append(chunk["output"]["doing"])
            if chunk["output"]["doing"] == "thinks":
                narrow.release(gate)
    assert "thinks" in seen
    assert client.answer(session)["content"] == "Seen."


@pytest.mark.parametrize("point", ["sub_session_started", "while it runs"])
def test_a_worker_killed_during_a_sub_session_leaves_one_child_and_the_parent_completes(
    narrow: Stack, point: str
) -> None:
    client = narrow.client()
    session = client.new_session()
    gate = f"killed-{session}"
    child = {"id": gate, "steps": [{"text": "One answer.", "gate": gate}]}
    crash = "" if point == "while it runs" else point
    if crash:
        narrow.kill("worker0")
        narrow.start_worker(1, crash_at=crash)
    turn = client.send(session, {"id": f"p-{gate}", "steps": [delegate(child), {"text": "It answered."}]})
    if crash:
        eventually(lambda: narrow.processes["worker1"].poll() is not None, what="the crash")
    else:
        eventually(lambda: only_child(client, session), what="the child at work")
        narrow.kill("worker0")
    narrow.start_worker(0, threads=1)
    narrow.release(gate)
    assert client.wait(turn["id"])["end_reason"] == "done"
    assert client.turn(turn["id"])["attempt"] > 1
    (made,) = children(client, session)
    assert tool_output(client, session)["response"] == "One answer."
    spoken = [message["role"] for message in client.session(made["id"])["messages"]]
    assert spoken == ["user", "assistant"], "one task, one answer"


def test_cancelling_the_parent_cancels_the_child(narrow: Stack) -> None:
    client = narrow.client()
    session = client.new_session()
    gate = f"stopped-{session}"
    child = {"id": gate, "steps": [{"text": "Never.", "gate": gate}]}
    turn = client.send(session, {"steps": [delegate(child), {"text": "Never."}]})
    made = eventually(lambda: only_child(client, session), what="the child at work")
    assert made is not None
    below = client.session(made["id"])["active_turn"]["id"]
    assert client.http.post(f"/api/turns/{turn['id']}/cancel").json() == {"cancelled": True}
    assert client.wait(below)["end_reason"] == "cancelled"
    again = client.send(session, "say hello")
    assert client.wait(again["id"])["end_reason"] == "done", "the place is free again"


def test_work_in_the_background_comes_back_by_itself(narrow: Stack) -> None:
    """In plain words to the offline model."""
    client = narrow.client()
    session = client.new_session()
    turn = client.send(session, "count to 40 in the background and tell me when it is done")
    assert client.wait(turn["id"])["end_reason"] == "done"
    eventually(lambda: len(answers(client, session)) > 1, what="the call back")
    told = answers(client, session)
    assert len(told) == 2 and "40" in told[1]
    assert tool_output(client, session)["status"] == "completed"


def test_it_comes_back_once_although_its_worker_dies_when_it_is_over(narrow: Stack) -> None:
    client = narrow.client()
    session = client.new_session()
    gate = f"back-{session}"
    child = {"id": gate, "steps": [{"text": "One answer.", "gate": gate}]}
    steps = [
        delegate(child, wait_for_result=0, notify=True),
        {"text": "It goes on."},
        {"text": "It came back."},
    ]
    turn = client.send(session, {"id": f"p-{gate}", "steps": steps})
    assert client.wait(turn["id"])["end_reason"] == "done"
    eventually(lambda: only_child(client, session), what="the child at work")
    narrow.kill("worker0")
    narrow.start_worker(2, crash_at="after_final_commit")
    narrow.release(gate)
    eventually(lambda: narrow.processes["worker2"].poll() is not None, what="the crash")
    narrow.start_worker(0, threads=1)
    eventually(lambda: len(answers(client, session)) > 1, what="the call back")
    told = answers(client, session)
    assert told == ["It goes on.", "It came back."]
    output = tool_output(client, session)
    assert (output["status"], output["response"]) == ("completed", "One answer.")


def test_an_agent_that_asks_the_copilot_survives_its_worker(narrow: Stack) -> None:
    """The AutoPilot block, over the API: the node waits without a worker, the turn is asked for once."""
    client = narrow.client()
    gate = f"pilot-{client.new_session()}"
    prompt = as_text({"id": gate, "steps": [{"text": "Tidied up.", "gate": gate}]})
    nodes = {"pilot": ("AutoPilot", {"prompt": prompt}), "out": ("Agent Output", {"name": "y"})}
    made = client.http.post("/api/agents", json=agent_json(nodes, ["pilot.response -> out.value"])).json()
    started = client.http.post(f"/api/agents/{made['id']}/execute", json={"inputs": {}}).json()
    url = f"/api/executions/{started['id']}"

    def asked() -> list[dict[str, Any]]:
        found = client.http.get("/api/sessions", params={"search": gate}).json()["results"]
        return [one for one in found if one["status"] == "running"]

    (session,) = eventually(asked, what="the copilot at work")
    narrow.kill("worker0")
    narrow.start_worker(0, threads=1)
    narrow.release(gate)
    eventually(lambda: execution(client, url)["status"] == "COMPLETED", what="the end of the agent")
    assert execution(client, url)["outputs"] == {"y": ["Tidied up."]}
    spoken = [message["role"] for message in client.session(session["id"])["messages"]]
    assert spoken == ["user", "assistant"]


def execution(client: Client, url: str) -> dict[str, Any]:
    found: dict[str, Any] = client.http.get(url).json()
    return found
