"""More model calls at once than the database pool has connections: every one is made once, and nobody else suffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Stack, as_text, eventually, running_stack
from tests.services import prepared_database
from tests.system.acceptance.test_executions import Agents

pytestmark = pytest.mark.services
EXECUTIONS = ("ann-1", "ann-2", "bob-1", "bob-2")
BLOCKS = 64  # of each execution: all that one may run at once, and together all that one process may
GATE = "all-asked"
RENEWALS = 5
START_SECONDS = 50.0  # the model's servers may be silent for a minute


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    with (
        prepared_database() as (url, keys),
        running_stack(short_tmp / "connections", database_url=url, keys=keys) as running,
    ):
        yield running


def save(stack: Stack, name: str) -> tuple[Agents, dict[str, Any]]:
    """An agent whose AI blocks all ask the model at once, and get no answer before the gate is opened."""
    nodes, links = {}, []
    for number in range(BLOCKS):
        script = {"id": f"{name}-{number}", "steps": [{"text": f"Answer {number}.", "gate": GATE}]}
        nodes[f"ask{number}"] = ("AI Text Generator", {"prompt": as_text(script)})
        nodes[f"out{number}"] = ("Agent Output", {"name": f"out{number}"})
        links.append(f"ask{number}.response -> out{number}.value")
    agents = Agents(stack.client(name.partition("-")[0]))
    return agents, agents.save(nodes, links)


def asked(stack: Stack) -> Counter[str]:
    """How often the model was asked by each script."""
    return Counter(request["conversation"] for request in stack.model_requests())


def test_256_model_calls_at_once_are_made_once_and_a_neighbour_keeps_its_attempt(stack: Stack) -> None:
    saved = [save(stack, name) for name in EXECUTIONS]
    cay = stack.client("cay")
    session = cay.new_session()
    turn = cay.send(session, {"id": "cay", "steps": [{"text": "Slow but steady.", "gate": GATE}]})
    eventually(lambda: asked(stack)["cay"] == 1, what="the neighbour's model call")

    running = [(agents, agents.start(agent)) for agents, agent in saved]
    calls = {f"{name}-{number}" for name in EXECUTIONS for number in range(BLOCKS)}
    eventually(lambda: calls <= asked(stack).keys(), seconds=START_SECONDS, what="256 model calls at once")
    follow_renewals(stack, turn["id"])
    stack.release(GATE)

    for agents, execution in running:
        ended = agents.wait(execution)
        assert ended["status"] == "COMPLETED", ended
        assert ended["outputs"] == {f"out{number}": [f"Answer {number}."] for number in range(BLOCKS)}
    assert cay.wait(turn["id"])["end_reason"] == "done"
    assert cay.turn(turn["id"])["attempt"] == 1
    assert {name: count for name, count in asked(stack).items() if name in calls and count != 1} == {}
    assert stack.sql("SELECT DISTINCT attempt FROM executions_execution") == [(1,)]


def test_a_worker_with_too_small_a_pool_says_so_and_gets_on_all_the_same(
    short_tmp: Path,
) -> None:
    with prepared_database() as (url, keys):
        small = {"COPILOT_DATABASE_POOL_SIZE": "2"}
        with running_stack(short_tmp / "small", database_url=url, keys=keys, env=small) as stack:
            assert "Set COPILOT_DATABASE_POOL_SIZE to 18 or more" in stack.log("worker0", lines=1_000)
            agents, agent = save(stack, "ann-small")
            execution = agents.start(agent)
            calls = {f"ann-small-{number}" for number in range(BLOCKS)}
            eventually(lambda: calls <= asked(stack).keys(), what="64 model calls at once")
            stack.release(GATE)
            assert agents.wait(execution)["status"] == "COMPLETED"
            assert {asked(stack)[name] for name in calls} == {1}


def follow_renewals(stack: Stack, turn_id: str) -> None:
    """Wait until the heartbeat has renewed the lease several times."""
    seen: set[object] = set()

    def renewed() -> bool:
        [(lease_until, attempt)] = stack.sql(
            "SELECT lease_until, attempt FROM chat_turn WHERE id = ?", turn_id
        )
        assert attempt == 1
        seen.add(lease_until)
        return len(seen) > RENEWALS

    eventually(renewed, what="the renewals of the neighbour's lease")
