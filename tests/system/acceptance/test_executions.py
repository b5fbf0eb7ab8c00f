"""Agents that survive: workers are killed, frozen out and overcrowded, and every execution ends once and right."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.executions.engine.graphs import agent_json
from tests.harness import SETTLE_SECONDS, Client, Stack, eventually, running_stack
from tests.system.acceptance.test_operations import Device

pytestmark = pytest.mark.chaos
KILLS = int(os.environ.get("EXECUTION_KILLS", "2"))  # the long form: EXECUTION_KILLS=10
ENV = {"COPILOT_TEST_APPS": "tests.testblocks"}
ENDED = ("COMPLETED", "FAILED", "TERMINATED")
FEW_HANDS = 4
Nodes = dict[str, Any]


class Agents:
    """One person's agents and executions over HTTP."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def save(self, nodes: Nodes, links: list[str]) -> dict[str, Any]:
        agent = self.client._ok(self.client.http.post("/api/agents", json=agent_json(nodes, links)))
        assert agent["validation"]["valid"], agent["validation"]
        return agent

    def start(self, agent: dict[str, Any], **inputs: Any) -> str:
        answer = self.client.http.post(f"/api/agents/{agent['id']}/execute", json={"inputs": inputs})
        return str(self.client._ok(answer)["id"])

    def get(self, execution: str, query: str = "") -> dict[str, Any]:
        return self.client._ok(self.client.http.get(f"/api/executions/{execution}{query}"))

    def wait(self, execution: str, *wanted: str, seconds: float = 120.0) -> dict[str, Any]:
        wanted = wanted or ENDED
        eventually(
            lambda: self.get(execution)["status"] in wanted, seconds=seconds, what=f"{execution} {wanted}"
        )
        return self.get(execution)


def start_few_hands(stack: Stack, number: int = 0) -> None:
    """A worker with so few threads that executions have to wait for each other."""
    stack.start_worker(number, threads=FEW_HANDS, queues="executions")


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    with running_stack(short_tmp / "few", workers=0, webs=2, env=ENV) as running:
        start_few_hands(running)
        running.wait_ready(1)
        yield running


@pytest.fixture
def ann(stack: Stack) -> Agents:
    return Agents(stack.client("ann"))


@pytest.fixture
def bob(stack: Stack) -> Agents:
    return Agents(stack.client("bob", web=1))


# --- killed ---------------------------------------------------------------------------------------

CHAIN, FAN, ITEMS, GATHERED = 60, 50, 1_000, 30 * KILLS


def large_graph(seconds: float) -> tuple[Nodes, list[str]]:
    """Over 200 nodes: a chain, a fan of 50 effects, a loop over 1,000 items, and a loop that gathers its values."""
    nodes: Nodes = {"in": ("Agent Number Input", {"name": "start"})}
    links: list[str] = []
    last = "in.result"
    for number in range(CHAIN):
        nodes[f"chain{number}"] = ("Calculator", {"operation": "Add", "b": 1})
        links.append(f"{last} -> chain{number}.a")
        last = f"chain{number}.result"
    for number in range(FAN):
        nodes[f"mark{number}"] = ("Test Mark", {"seconds": seconds})
        nodes[f"add{number}"] = ("Calculator", {"operation": "Add", "b": number})
        nodes[f"fan{number}"] = ("Agent Output", {"name": f"fan{number}"})
        links += [
            f"{last} -> mark{number}.value",
            f"mark{number}.value -> add{number}.a",
            f"add{number}.result -> fan{number}.value",
        ]
    nodes |= {
        "items": ("Step Through Items", {"items": list(range(ITEMS))}),
        "double": ("Calculator", {"operation": "Multiply", "b": 2}),
        "loop": ("Agent Output", {"name": "loop"}),
        "some": ("Step Through Items", {"items": list(range(GATHERED))}),
        "paid": ("Test Mark", {}),
        "none": ("Create List", {"values": []}),
        "all": ("Add To List", {}),
        "gathered": ("Agent Output", {"name": "gathered"}),
    }
    links += [
        "items.item -> double.a",
        "double.result -> loop.value",
        "some.item -> paid.value",
        "none.list -> all.list",
        "paid.value -> all.entry",
        "all.updated_list -> all.list",
        "all.updated_list -> gathered.value",
    ]
    return nodes, links


def check_large_outputs(outputs: dict[str, list[Any]], start: int) -> None:
    for number in range(FAN):
        assert outputs[f"fan{number}"] == [start + CHAIN + number]
    assert outputs["loop"] == [2 * item for item in range(ITEMS)]
    assert outputs["gathered"][-1] == list(range(GATHERED))
    assert len(outputs["gathered"]) == GATHERED


def test_a_large_agent_whose_worker_is_killed_again_and_again_ends_as_if_nothing_had_happened(
    short_tmp: Path,
) -> None:
    marks = short_tmp / "marks"
    marks.mkdir()
    env = ENV | {"COPILOT_TEST_MARKS": str(marks)}
    with running_stack(short_tmp / "killed", workers=1, env=env, lease_seconds=2.0) as stack:
        ann = Agents(stack.client())
        nodes, links = large_graph(seconds=0.2)
        assert len(nodes) > 200
        execution = ann.start(ann.save(nodes, links), start=7)
        total = 2 * ITEMS + CHAIN + 3 * FAN + 3 * GATHERED
        for kill in range(1, KILLS + 1):
            eventually(has_come_to(stack, execution, kill, total * kill / (KILLS + 2)), what=f"kill {kill}")
            stack.kill(f"worker{kill - 1}")
            stack.start_worker(kill)
        done = ann.wait(execution, seconds=240)
        assert done["status"] == "COMPLETED", done
        assert done["attempt"] == KILLS + 1
        check_large_outputs(done["outputs"], 7)
        doubled = stack.sql(
            "SELECT node_id, run, count(*) FROM executions_nodeexecution GROUP BY execution_id, node_id, run "
            "HAVING count(*) > 1",
        )
        assert doubled == []
        paid = stack.sql(
            "SELECT id FROM executions_nodeexecution WHERE block_id = '7e570000-0000-4000-8000-000000000001'",
        )
        assert len(paid) == FAN + GATHERED
        entries = stack.sql("SELECT key FROM accounts_ledgerentry WHERE kind = 'block'")
        assert sorted(key for (key,) in entries) == sorted(f"node:{with_dashes(one)}" for (one,) in paid)
        assert done["cost"] == f"{(FAN + GATHERED) * 0.01:.6f}"
        assert sorted(path.name for path in marks.iterdir()) == sorted(with_dashes(one) for (one,) in paid)
        assert {path.read_text() for path in marks.iterdir()} == {"done\n"}


def has_come_to(stack: Stack, execution: str, attempt: int, count: float) -> Callable[[], bool]:
    """Whether that attempt is at work, and so much has ended."""
    query = "SELECT count(*) FROM executions_execution WHERE id = ? AND attempt = ? AND status = 'RUNNING'"
    key = execution.replace("-", "")
    return lambda: stack.sql(query, key, attempt) == [(1,)] and ended_rows(stack, execution) >= count


def ended_rows(stack: Stack, execution: str) -> int:
    query = "SELECT count(*) FROM executions_nodeexecution WHERE execution_id = ? AND seq IS NOT NULL"
    return int(stack.sql(query, execution.replace("-", ""))[0][0])


def with_dashes(plain: str) -> str:
    return f"{plain[:8]}-{plain[8:12]}-{plain[12:16]}-{plain[16:20]}-{plain[20:]}"


POINTS = ("node_begun", "node_worked", "wave_committed", "after_final_commit")


def test_a_worker_that_dies_at_any_point_changes_nothing(
    new_stack: Callable[..., Stack], tmp_path: Path
) -> None:
    stack = new_stack(workers=0, env=ENV | {"COPILOT_TEST_MARKS": str(tmp_path)}, lease_seconds=2.0)
    ann = Agents(stack.client())
    nodes = {
        "items": ("Step Through Items", {"items": [1, 2, 3]}),
        "mark": ("Test Mark", {}),
        "out": ("Agent Output", {"name": "y"}),
    }
    execution = ann.start(ann.save(nodes, ["items.item -> mark.value", "mark.value -> out.value"]))
    for number, point in enumerate(POINTS):  # each takes over from the one before, and dies a little later
        stack.start_worker(number, crash_at=point)
        eventually(has_ended(stack, f"worker{number}"), what=f"the crash at {point}")
    done = ann.get(execution)
    assert (done["status"], done["attempt"], done["cost"]) == ("COMPLETED", len(POINTS), "0.030000")
    assert done["outputs"] == {"y": [1, 2, 3]}
    assert [path.read_text() for path in tmp_path.iterdir()] == ["done\n"] * 3
    assert len(stack.sql("SELECT 1 FROM accounts_ledgerentry")) == 3


def has_ended(stack: Stack, name: str) -> Callable[[], bool]:
    return lambda: stack.processes[name].poll() is not None


# --- crowded --------------------------------------------------------------------------------------


def test_200_executions_of_one_person_do_not_delay_the_single_one_of_another(
    stack: Stack, ann: Agents, bob: Agents
) -> None:
    sleep = {"s": ("Test Sleep", {"seconds": 0.3}), "out": ("Agent Output", {"name": "y"})}
    links = ["s.value -> out.value"]
    crowd, single = ann.save(sleep, links), bob.save(sleep, links)
    with ThreadPoolExecutor(8) as pool:
        crowded = list(pool.map(lambda _: ann.start(crowd), range(200)))
    mine = bob.wait(bob.start(single))
    assert mine["status"] == "COMPLETED"
    waiting = [row for row in crowded if ann.get(row)["status"] == "QUEUED"][:1]
    assert waiting, "the crowd was gone before it could stand in anybody's way"
    passed = stack.sql(
        "SELECT count(*) FROM executions_execution WHERE agent_id = ? AND started_at > ? AND started_at < ?",
        crowd["id"].replace("-", ""),
        *(moment.replace("T", " ").removesuffix("Z") for moment in (mine["queued_at"], mine["started_at"])),
    )[0][0]
    assert passed <= FEW_HANDS, f"{passed} of the crowd began while the single one waited"
    stack.sql("UPDATE executions_execution SET status = 'TERMINATED' WHERE status = 'QUEUED'")


def test_parents_that_wait_for_their_children_do_not_starve_them(stack: Stack, ann: Agents) -> None:
    """More parents than the worker has threads, each waiting for a child that needs one."""
    child = ann.save(
        {
            "in": ("Agent Input", {"name": "n"}),
            "s": ("Test Sleep", {"seconds": 0.2}),
            "out": ("Agent Output", {"name": "twice"}),
        },
        ["in.result -> s.value", "s.value -> out.value"],
    )
    sub = {
        "graph_id": child["id"],
        "graph_version": 1,
        "user_id": "x",
        "input_schema": child["input_schema"],
        "output_schema": child["output_schema"],
    }
    parent = ann.save(
        {
            "in": ("Agent Input", {"name": "n"}),
            "sub": ("Agent Executor", sub),
            "out": ("Agent Output", {"name": "y"}),
        },
        ["in.result -> sub.n", "sub.twice -> out.value"],
    )
    executions = [ann.start(parent, n=number) for number in range(2 * FEW_HANDS)]
    for number, execution in enumerate(executions):
        done = ann.wait(execution)
        assert (done["status"], done["outputs"]) == ("COMPLETED", {"y": [number]})


# --- stopped, asked, watched ----------------------------------------------------------------------


def test_a_cancel_stops_running_nodes_and_sub_agents(stack: Stack, ann: Agents, bob: Agents) -> None:
    child = ann.save(
        {"s": ("Test Sleep", {"seconds": 300}), "out": ("Agent Output", {"name": "y"})},
        ["s.value -> out.value"],
    )
    sub = {
        "graph_id": child["id"],
        "graph_version": 1,
        "user_id": "x",
        "input_schema": child["input_schema"],
        "output_schema": child["output_schema"],
    }
    nodes = {"sub": ("Agent Executor", sub), "out": ("Agent Output", {"name": "y"})}
    execution = ann.start(ann.save(nodes, ["sub.y -> out.value"]))
    eventually(lambda: live(stack, child["id"]) == ["RUNNING"], what="the child at work")
    assert bob.client.http.post(f"/api/executions/{execution}/cancel").status_code == 404
    other = stack.client("ann", web=1)
    assert other.http.post(f"/api/executions/{execution}/cancel").json() == {"cancelled": True}
    assert ann.get(execution)["status"] == "TERMINATED"
    eventually(lambda: live(stack, child["id"]) == ["TERMINATED"], what="the child's end")


def live(stack: Stack, agent_id: str) -> list[str]:
    query = "SELECT status FROM executions_execution WHERE agent_id = ?"
    return [status for (status,) in stack.sql(query, agent_id.replace("-", ""))]


def test_a_question_holds_no_worker_and_the_answer_resumes_the_same_execution(
    stack: Stack, ann: Agents
) -> None:
    nodes = {
        "ask": ("Human In The Loop", {"data": {"text": "Dear all"}, "name": "The letter"}),
        "out": ("Agent Output", {"name": "letter"}),
    }
    agent = ann.save(nodes, ["ask.approved_data -> out.value"])
    asking = [ann.start(agent) for _ in range(2 * FEW_HANDS)]
    for execution in asking:
        assert ann.get(execution, "?wait=60")["status"] == "REVIEW"
    held = stack.sql("SELECT count(*) FROM executions_execution WHERE status = 'WAITING' AND owner <> ''")
    assert held == [(0,)]
    quick = ann.save({"out": ("Agent Output", {"name": "y", "value": 1})}, [])
    assert ann.wait(ann.start(quick))["status"] == "COMPLETED"
    reviews = ann.client._ok(ann.client.http.get("/api/reviews?state=waiting&limit=100"))["results"]
    mine = next(review for review in reviews if review["execution_id"] == asking[0])
    stack.kill("worker0")
    start_few_hands(stack)
    answer = {"approved": True, "data": {"text": "Dear Ada"}}
    assert ann.client.http.post(f"/api/reviews/{mine['id']}/decide", json=answer).status_code == 200
    assert ann.client.http.post(f"/api/reviews/{mine['id']}/decide", json=answer).status_code == 409
    done = ann.wait(asking[0])
    assert (done["status"], done["outputs"]) == ("COMPLETED", {"letter": [{"text": "Dear Ada"}]})
    assert ann.get(asking[1])["status"] == "REVIEW"


def test_a_wait_for_a_time_holds_no_worker_and_outlives_it(stack: Stack, ann: Agents) -> None:
    nodes = {
        "wait": ("Countdown Timer", {"input_message": "now", "seconds": 8}),
        "out": ("Agent Output", {"name": "y"}),
    }
    execution = ann.start(ann.save(nodes, ["wait.output_message -> out.value"]))
    query = "SELECT status, owner, lease_until FROM executions_execution WHERE id = ?"
    key = execution.replace("-", "")
    eventually(lambda: stack.sql(query, key) == [("WAITING", "", None)], what="the wait without a worker")
    assert ann.get(execution)["status"] == "RUNNING"
    stack.kill("worker0")
    start_few_hands(stack)
    done = ann.wait(execution)
    assert (done["status"], done["outputs"], done["attempt"]) == ("COMPLETED", {"y": ["now"]}, 2)


def test_devices_hear_of_every_node_while_it_runs(stack: Stack, ann: Agents) -> None:
    device = Device(stack, ann.client, 1)
    try:
        assert device.open.wait(SETTLE_SECONDS)
        nodes = {
            "s": ("Test Sleep", {"seconds": 0.6, "value": "hello"}),
            "out": ("Agent Output", {"name": "y"}),
        }
        execution = ann.start(ann.save(nodes, ["s.value -> out.value"]))
        ann.wait(execution)
        eventually(lambda: device.heard("execution.updated", id=execution, status="COMPLETED"))
        frames = device.heard("execution.updated", id=execution)
        # Two processes push the first two states, so a quick worker may be heard before the one that accepted it.
        assert "QUEUED" in [frame["status"] for frame in frames[:2]]
        states = [(node["node_id"], node["status"]) for frame in frames for node in frame["nodes"]]
        assert ("s", "RUNNING") in states
        assert ("s", "COMPLETED") in states
        shown = [
            node["outputs"] for frame in frames for node in frame["nodes"] if node["status"] == "COMPLETED"
        ]
        assert [["value", "hello"]] in shown
    finally:
        device.close()
