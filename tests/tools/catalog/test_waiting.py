"""Waiting for a run through dispatch: woken by its end, stopped by a cancel, and nothing is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from durable import event_log
from durable.stop_signal import StopReason
from executions.models import Agent, Execution, NodeExecution
from tests.tools.catalog.conftest import save_greeter
from tests.tools.conftest import Bench, call, eventually
from tools.models import ToolCall

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
InBackground = Callable[[Callable[[], Any]], threading.Thread]


@pytest.fixture
def agent(user: User) -> Agent:
    return save_greeter(user)


def end(status: str, **fields: Any) -> None:
    """As the worker that ran it, which is not here."""
    eventually(Execution.objects.exists)
    Execution.objects.update(status=status, **fields)
    event_log.nudge(Execution.objects.get().pk)


def test_a_wait_ends_when_the_run_does(bench: Bench, agent: Agent, in_background: InBackground) -> None:
    in_background(lambda: end("COMPLETED", outputs={"greeting": ["Hello Eve!"]}))
    found = bench.run_one(
        "run_agent", library_agent_id=str(agent.pk), inputs={"name": "Eve"}, wait_for_result=60
    ).output
    assert found["execution"]["outputs"] == {"greeting": ["Hello Eve!"]}
    assert bench.journal.waits == [None], "the turn did not give up its place while it waited"


def test_who_watches_a_wait_sees_how_far_the_run_is(
    bench: Bench, agent: Agent, in_background: InBackground
) -> None:
    def work() -> None:
        eventually(lambda: bench.journal.watches)
        execution = Execution.objects.get()
        Execution.objects.update(status="RUNNING")
        for node_id, status in (("a", "COMPLETED"), ("b", "FAILED"), ("b", "RUNNING")):
            NodeExecution.objects.create(
                execution=execution, node_id=node_id, block_id="x", status=status, queued_at=timezone.now()
            )
        event_log.nudge(execution.pk)
        eventually(lambda: len(bench.journal.watches) == 2)
        end("COMPLETED")

    in_background(work)
    arguments = {"library_agent_id": str(agent.pk), "use_defaults": True, "wait_for_result": 60}
    bench.run_one("run_agent", **arguments)
    assert [seen.status for seen in bench.journal.watches] == ["QUEUED", "RUNNING", "COMPLETED"]
    assert bench.journal.watches[1].nodes == {"a": "COMPLETED", "b": "RUNNING"}


def test_a_wait_ends_early_when_a_person_is_asked(
    bench: Bench, agent: Agent, in_background: InBackground
) -> None:
    in_background(lambda: end("WAITING", asks_person=True))
    arguments = {"library_agent_id": str(agent.pk), "use_defaults": True, "wait_for_result": 60}
    assert "is waiting for a review" in bench.run_one("run_agent", **arguments).output["message"]


def test_a_cancelled_wait_stops_at_once_and_the_run_goes_on(
    bench: Bench, agent: Agent, in_background: InBackground
) -> None:
    def cancel() -> None:
        eventually(Execution.objects.exists)
        bench.stop.set(StopReason.CANCELLED)

    in_background(cancel)
    arguments = {"library_agent_id": str(agent.pk), "use_defaults": True, "wait_for_result": 300}
    finished = bench.run_one("run_agent", **arguments)
    assert finished.state == ToolCall.State.CANCELLED
    assert Execution.objects.get().status == "QUEUED"


def test_a_call_in_doubt_finds_the_run_it_had_started(bench: Bench, agent: Agent) -> None:
    """The worker died after the start and before the result: one execution, and the outputs all the same."""
    request = call("run_agent", library_agent_id=str(agent.pk), use_defaults=True, wait_for_result=1)
    bench.run(request)
    ToolCall.objects.update(state=ToolCall.State.STARTED, result=None)
    Execution.objects.update(status="COMPLETED", outputs={"greeting": ["Hello World!"]})
    [finished] = bench.run(request)
    assert finished.output["execution"]["outputs"] == {"greeting": ["Hello World!"]}
    assert Execution.objects.count() == 1
