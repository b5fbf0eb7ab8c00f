"""Executions on real threads: what runs at the same time, what is stopped, and what never blocks the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounts.models import LedgerEntry, User
from durable import jobs
from durable.lease import Lease
from durable.stop_signal import StopReason
from executions import limits
from executions.engine import run_attempt
from executions.engine.dependencies import EngineDependencies
from executions.engine.thread_pool import BlockThreads, PoolTask
from executions.models import Agent, Execution
from tests.blocks.doubles import ScriptedModel, tool_call
from tests.executions.conftest import fresh
from tests.executions.engine.graphs import registry
from tests.testblocks.copilot_blocks import MARKS

OUT = ("Agent Output", {"name": "y"})
Make = Callable[..., Execution]
threaded = pytest.mark.django_db(transaction=True)


class Attempt:
    """An execution at work on a thread, with its lease in the test's hand."""

    def __init__(self, execution: Execution, model: ScriptedModel | None = None) -> None:
        self.execution = execution
        self._dependencies = EngineDependencies(registry=registry(), model=model or ScriptedModel())
        lease = jobs.claim(Execution, execution.pk, owner="a worker of a test")
        assert lease is not None
        self.lease: Lease = lease
        self.raised: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            run_attempt.run(self.lease, self._dependencies)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self.raised.append(error)
        finally:
            connection.close()

    def wait(self, seconds: float = 120.0) -> Execution:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "the execution did not come to an end"
        return fresh(self.execution)


def eventually(look: Callable[[], object], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Path]:
    """Blocks that are told to hold go on when the test, or its end, makes this file."""
    path = tmp_path / "hold"
    yield path
    path.touch()


@threaded
def test_ready_nodes_run_at_the_same_time(execution_of: Make, hold: Path) -> None:
    nodes: dict[str, Any] = {f"s{n}": ("Test Sleep", {"hold": str(hold), "value": n}) for n in range(20)}
    attempt = Attempt(execution_of(nodes))
    eventually(lambda: attempt.execution.nodes.filter(status="RUNNING").count() == 20)
    hold.touch()
    assert attempt.wait().status == "COMPLETED"


@threaded
def test_a_slow_node_does_not_keep_others_from_going_on(execution_of: Make, hold: Path) -> None:
    nodes = {
        "slow": ("Test Sleep", {"hold": str(hold), "value": "late"}),
        "items": ("Step Through Items", {"items": list(range(30))}),
        "sum": ("Calculator", {"operation": "Add", "b": 1}),
        "out": OUT,
        "late": ("Agent Output", {"name": "late"}),
    }
    links = ["items.item -> sum.a", "sum.result -> out.value", "slow.value -> late.value"]
    attempt = Attempt(execution_of(nodes, links))
    eventually(lambda: fresh(attempt.execution).outputs == {"y": list(range(1, 31))})
    assert attempt.execution.nodes.get(node_id="slow").status == "RUNNING"
    hold.touch()
    assert attempt.wait().outputs["late"] == ["late"]


@threaded
def test_a_quick_block_that_turns_out_slow_does_not_keep_quick_ones_waiting(
    execution_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A regular expression that takes seconds runs in the same crew as additions."""
    nodes = {
        "slow": ("Countdown Timer", {"seconds": 2}),
        "items": ("Step Through Items", {"items": list(range(10))}),
        "sum": ("Calculator", {"operation": "Add", "b": 1}),
        "out": OUT,
    }
    attempt = Attempt(execution_of(nodes, ["items.item -> sum.a", "sum.result -> out.value"]))
    eventually(lambda: fresh(attempt.execution).outputs.get("y") == list(range(1, 11)), seconds=5)
    assert attempt.wait().status == "COMPLETED"


@threaded
def test_outputs_come_in_the_order_of_the_items_whichever_run_ends_first(execution_of: Make) -> None:
    nodes = {
        "items": ("Step Through Items", {"items": [0.3, 0.2, 0.1, 0.0]}),
        "sleep": ("Test Sleep", {}),
        "out": OUT,
    }
    links = ["items.item -> sleep.seconds", "items.item -> sleep.value", "sleep.value -> out.value"]
    done = Attempt(execution_of(nodes, links)).wait()
    assert done.outputs == {"y": [0.3, 0.2, 0.1, 0.0]}
    ends = done.nodes.filter(node_id="sleep").order_by("seq").values_list("run", flat=True)
    assert list(ends) != [1, 2, 3, 4], "they should have ended in another order"


@threaded
@pytest.mark.parametrize("deaf", [False, True])
def test_a_cancel_stops_running_nodes_within_a_second_or_two(
    execution_of: Make, hold: Path, deaf: bool
) -> None:
    attempt = Attempt(execution_of({"s": ("Test Sleep", {"hold": str(hold), "deaf": deaf})}))
    eventually(lambda: attempt.execution.nodes.filter(status="RUNNING").exists())
    jobs.request_cancel(Execution, attempt.execution.pk)
    attempt.lease.stop.set(StopReason.CANCELLED)  # as the bell does
    done = attempt.wait(5)
    assert (done.status, done.end_reason, done.error) == ("TERMINATED", "cancelled", "The run was stopped.")
    assert done.nodes.get().status == "TERMINATED"


@threaded
def test_a_node_that_fails_stops_those_beside_it(execution_of: Make, hold: Path) -> None:
    nodes = {
        "s": ("Test Sleep", {"hold": str(hold)}),
        "bad": ("Calculator", {"operation": "Divide", "a": 1, "b": 0}),
    }
    done = Attempt(execution_of(nodes)).wait()
    assert (done.status, done.nodes.get(node_id="s").status) == ("FAILED", "TERMINATED")


@threaded
@pytest.mark.parametrize("deaf", [False, True])
def test_a_node_over_its_time_cap_fails_and_is_left_behind(
    execution_of: Make, hold: Path, deaf: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper = registry().get_by_name("Test Sleep")
    object.__setattr__(sleeper, "time_cap_seconds", 0.2)
    nodes = {"s": ("Test Sleep", {"hold": str(hold), "deaf": deaf}), "out": OUT}
    try:
        done = Attempt(execution_of(nodes, ["s.error -> out.value"])).wait()
    finally:
        object.__setattr__(sleeper, "time_cap_seconds", 60.0)
    assert done.outputs == {"y": ["The block exceeded its time limit and was stopped."]}


@threaded
def test_a_node_that_stops_when_its_time_is_over_says_that_it_was_the_time(
    execution_of: Make, hold: Path
) -> None:
    sleeper = registry().get_by_name("Test Sleep")
    nodes = {"s": ("Test Sleep", {"hold": str(hold)}), "out": OUT}
    attempt = Attempt(execution_of(nodes, ["s.error -> out.value"]))
    eventually(lambda: attempt.execution.nodes.filter(status="RUNNING").exists())
    try:
        object.__setattr__(
            sleeper, "time_cap_seconds", 0.01
        )  # only the driver knows, and tells the block to stop
        done = attempt.wait()
    finally:
        object.__setattr__(sleeper, "time_cap_seconds", 60.0)
    assert done.outputs == {"y": ["The block exceeded its time limit and was stopped."]}


@threaded
def test_a_worker_asked_to_leave_finishes_what_runs_and_starts_nothing_more(
    execution_of: Make, hold: Path
) -> None:
    nodes = {"s": ("Test Sleep", {"hold": str(hold), "value": 1}), "next": ("Test Sleep", {}), "out": OUT}
    attempt = Attempt(execution_of(nodes, ["s.value -> next.value", "next.value -> out.value"]))
    eventually(lambda: attempt.execution.nodes.filter(status="RUNNING").exists())
    attempt.lease.draining = True
    hold.touch()
    left = attempt.wait()
    assert [type(error).__name__ for error in attempt.raised] == ["HandOver"]
    assert left.status == "RUNNING"
    assert list(left.nodes.values_list("node_id", "status")) == [("s", "COMPLETED")]
    attempt.lease.hand_over()
    assert Attempt(left).wait().outputs == {"y": [1]}


@threaded
def test_a_fenced_attempt_changes_nothing_any_more(execution_of: Make, hold: Path, tmp_path: Path) -> None:
    attempt = Attempt(
        execution_of(
            {"s": ("Test Sleep", {"hold": str(hold), "value": 1}), "out": OUT}, ["s.value -> out.value"]
        )
    )
    eventually(lambda: attempt.execution.nodes.filter(status="RUNNING").exists())
    Execution.objects.update(attempt=2, owner="another")
    hold.touch()
    left = attempt.wait()
    assert [type(error).__name__ for error in attempt.raised] == ["LeaseLost"]
    assert (left.status, list(left.nodes.values_list("status", flat=True))) == ("RUNNING", ["RUNNING"])


@threaded
def test_outputs_of_a_slow_iterator_are_used_before_it_ends(execution_of: Make) -> None:
    nodes = {"drip": ("Test Drip", {"count": 30, "seconds": 0.05}), "out": OUT}
    attempt = Attempt(execution_of(nodes, ["drip.item -> out.value"]))
    eventually(lambda: attempt.execution.nodes.filter(node_id="out", status="COMPLETED").exists())
    assert attempt.execution.nodes.get(node_id="drip").status == "RUNNING"
    assert attempt.wait().outputs == {"y": list(range(30))}


# --- an orchestrator and its tools --------------------------------------------------------------


@pytest.fixture
def model() -> ScriptedModel:
    """Answers instead of the platform's model; hand it to the attempt."""
    return ScriptedModel()


def orchestra() -> tuple[dict[str, Any], list[str]]:
    nodes = {
        "brain": ("Orchestrator", {"prompt": "What is 2 + 3?", "agent_mode_max_iterations": 5}),
        "sum": ("Calculator", {"operation": "Add"}),
        "mark": ("Test Mark", {}),
        "out": OUT,
    }
    links = [
        "brain.tools_^_add_~_a -> sum.a",
        "brain.tools_^_add_~_b -> sum.b",
        "brain.tools -> mark.value",
        "brain.finished -> out.value",
    ]
    return nodes, links


@threaded
def test_an_orchestrator_runs_its_tools_as_rows_and_answers(
    execution_of: Make, model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARKS, str(tmp_path))
    model.replies = [
        [tool_call("Calculator", '{"a": 2, "b": 3}', "c1")],
        [tool_call("Test_Mark", '{"value": 5}', "c2")],
        "It is 5.",
    ]
    done = Attempt(execution_of(*orchestra()), model).wait()
    assert (done.status, done.outputs) == ("COMPLETED", {"y": ["It is 5."]})
    called = done.nodes.filter(caller__node_id="brain").order_by("started_at")
    assert [(row.node_id, row.run, row.outputs) for row in called] == [
        ("sum", None, [["result", 5]]),
        ("mark", None, [["value", 5]]),
    ]
    assert len(list(tmp_path.iterdir())) == 1
    said = [message["content"] for message in model.requests[-1].messages if message["role"] == "tool"]
    assert said == ['{"result":5}', '{"value":5}']
    assert str(done.cost) == "0.013000"
    assert LedgerEntry.objects.filter(job_id=done.pk).count() == 2


@threaded
def test_a_tool_that_fails_tells_the_model_and_not_the_execution(
    execution_of: Make, model: ScriptedModel
) -> None:
    model.replies = [[tool_call("Calculator", '{"a": "x", "b": 3}')], "I cannot."]
    done = Attempt(execution_of(*orchestra()), model).wait()
    assert done.outputs == {"y": ["I cannot."]}
    assert done.nodes.get(node_id="sum").status == "FAILED"
    assert "expects number" in str(model.requests[-1].messages)


@threaded
def test_an_orchestrator_taken_over_asks_the_model_nothing_twice_and_runs_no_tool_twice(
    execution_of: Make, model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARKS, str(tmp_path))

    model.replies = [[tool_call("Test_Mark", '{"value": 5}')], Boom()]
    execution = execution_of(*orchestra())
    attempt = Attempt(execution, model)
    eventually(lambda: len(model.requests) == 2)
    left = attempt.wait()
    assert left.status == "FAILED"
    left.nodes.filter(node_id="brain").update(status="RUNNING", seq=None, ended_at=None, error="")
    Execution.objects.update(status="RUNNING", owner="dead", lease_until="2020-01-01T00:00Z", ended_at=None)
    model.replies = ["It is 5."]
    done = Attempt(left, model).wait()
    assert (done.status, done.outputs) == ("COMPLETED", {"y": ["It is 5."]})
    assert len(model.requests) == 3
    assert [path.read_text() for path in tmp_path.iterdir()] == ["done\n"]


class Boom(Exception):
    """Stands for whatever kills a worker."""


@threaded
def test_a_sub_agent_as_a_tool_lets_the_orchestrator_wait_without_a_worker(
    execution_of: Make,
    make_agent: Callable[..., Agent],
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    user: User,
) -> None:
    monkeypatch.setattr(limits, "SUB_AGENT_PATIENCE_SECONDS", 0.0)
    child = make_agent(
        {"in": ("Agent Input", {"name": "topic"}), "out": ("Agent Output", {"name": "answer"})},
        ["in.result -> out.value"],
    )
    version = child.versions.get()
    sub = (
        "Agent Executor",
        {
            "user_id": "x",
            "graph_id": str(child.pk),
            "graph_version": 1,
            "agent_name": "researcher",
            "input_schema": version.input_schema,
            "output_schema": version.output_schema,
        },
    )
    nodes = {
        "brain": ("Orchestrator", {"prompt": "Go.", "agent_mode_max_iterations": 3}),
        "sub": sub,
        "out": OUT,
    }
    model.replies = [[tool_call("researcher", '{"topic": "cats"}')]]
    execution = execution_of(nodes, ["brain.tools -> sub.topic", "brain.finished -> out.value"])
    waiting = Attempt(execution, model).wait()
    assert (waiting.status, waiting.public_status, waiting.owner) == ("WAITING", "RUNNING", "")
    model.replies = ["Cats."]
    assert Attempt(Execution.objects.get(parent__isnull=False)).wait().status == "COMPLETED"
    done = Attempt(waiting, model).wait()
    assert (done.status, done.outputs, len(model.requests)) == ("COMPLETED", {"y": ["Cats."]}, 2)


# --- the crew -----------------------------------------------------------------------------------


def wait_for(gate: threading.Event) -> Callable[[], None]:
    def wait() -> None:
        gate.wait(120)

    return wait


def test_the_crew_takes_users_in_turn() -> None:
    crew, order, gate = BlockThreads(most=1), [], threading.Event()

    def note(name: str) -> Callable[[], None]:
        return lambda: order.append(name)

    crew.submit([PoolTask("ann", wait_for(gate), False)])
    crew.submit([PoolTask("ann", note(f"ann {n}"), True) for n in range(3)])
    crew.submit([PoolTask("bob", note("bob"), True)])
    gate.set()
    eventually(lambda: len(order) == 4)
    assert "bob" in order[:2]


def test_one_user_has_only_a_share_of_the_crew() -> None:
    crew, gate, heard = BlockThreads(most=4, share=2), threading.Event(), threading.Event()
    begun: list[int] = []

    def wait() -> None:
        begun.append(1)
        gate.wait(120)

    crew.submit([PoolTask("ann", wait, False) for _ in range(4)])
    eventually(lambda: len(begun) == 2)
    crew.submit([PoolTask("bob", heard.set, False)])
    assert heard.wait(120)
    assert len(begun) == 2
    gate.set()
    eventually(lambda: len(begun) == 4)


def test_what_a_thread_of_the_crew_waits_for_needs_none_of_its_threads() -> None:
    crew, done = BlockThreads(most=1, share=1), threading.Event()

    def call_a_tool() -> None:
        answered = threading.Event()
        crew.run_now(answered.set)
        if answered.wait(120):
            done.set()

    crew.submit([PoolTask("ann", call_a_tool, False)])
    assert done.wait(120)


def test_a_task_that_raises_costs_the_crew_nothing() -> None:
    crew, heard = BlockThreads(most=1), threading.Event()

    def fail() -> None:
        raise RuntimeError("a fault of a test")

    crew.submit([PoolTask("ann", fail, True), PoolTask("ann", heard.set, True)])
    assert heard.wait(120)


def test_a_quick_task_behind_a_slow_one_gets_help() -> None:
    crew, gate, heard = BlockThreads(), threading.Event(), threading.Event()
    crew.submit([PoolTask("ann", wait_for(gate), True)])
    crew.submit([PoolTask("ann", heard.set, True)])
    crew.add_threads()
    assert heard.wait(120)
    gate.set()
