"""Asking for an execution: what is refused unrun, what is the same wish, and what is committed."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from accounts.errors import OverBudget
from accounts.models import Budget, User
from executions import limits
from executions.errors import BadInputs, BlockDenied, CannotRun, TooManyExecutions
from executions.inputs import fit_inputs
from executions.models import Agent, AgentVersion, Execution
from executions.start import ExecutionRequest, start

pytestmark = pytest.mark.django_db
MakeAgent = Callable[..., Agent]
NODES: dict[str, Any] = {
    "n": ("Agent Number Input", {"name": "count"}),
    "t": ("Agent Short Text Input", {"name": "text", "value": "hello"}),
    "out": ("Agent Output", {"name": "y"}),
}
LINKS = ["n.result -> out.value"]


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    return make_agent(NODES, LINKS)


def test_starting_commits_a_queued_execution_with_fitted_inputs(user: User, agent: Agent) -> None:
    started = start(user, agent, {"count": "3"})
    assert started.created
    execution = started.execution
    assert (execution.status, execution.version, execution.inputs) == ("QUEUED", 1, {"count": 3})


def test_the_same_wish_again_is_the_same_execution(user: User, agent: Agent) -> None:
    first = start(user, agent, {"count": 1}, ExecutionRequest(client_id="a"))
    again = start(user, agent, {"count": 2}, ExecutionRequest(client_id="a"))
    assert (again.created, again.execution.pk) == (False, first.execution.pk)
    assert start(user, agent, {"count": 1}, ExecutionRequest(client_id="b")).created
    assert start(
        User.objects.create(username="bob"), agent, {"count": 1}, ExecutionRequest(client_id="a")
    ).created


@pytest.mark.parametrize(
    ("inputs", "field", "words"),
    [
        ({}, "count", "required"),
        ({"count": None}, "count", "required"),
        ({"count": "many"}, "count", "not of type"),
        (
            {"count": 1, "colour": "red"},
            "colour",
            "There is no input 'colour'. This agent takes: ",
        ),
        ({"count": float("inf")}, "count", "no JSON form"),
        ({"count": 1, "text": ["x" * (limits.MAX_INPUT_BYTES + 1)]}, "", "larger than"),
    ],
)
def test_wrong_inputs_are_refused_with_the_name_of_each(
    user: User, agent: Agent, inputs: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(BadInputs) as refused:
        start(user, agent, inputs)
    assert words in refused.value.problems[field]
    assert not Execution.objects.exists()


def test_every_wrong_input_is_told_at_once() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a", "b"]}
    with pytest.raises(BadInputs) as refused:
        fit_inputs({"a": "x", "c": 1}, schema)
    assert sorted(refused.value.problems) == ["a", "b", "c"]


def test_a_schema_nobody_can_read_refuses_nothing() -> None:
    assert fit_inputs({"a": 1}, {"properties": {"a": {"type": "no such type"}}}) == {"a": 1}


def test_an_agent_with_problems_is_not_run_and_the_problems_are_named(user: User, agent: Agent) -> None:
    problems = [{"code": "x", "message": f"Problem {number}."} for number in range(7)]
    AgentVersion.objects.filter(agent=agent).update(problems=problems)
    with pytest.raises(CannotRun, match=r"Problem 0\..*Problem 4\. And 2 more\."):
        start(user, agent, {"count": 1})


def test_a_version_that_is_not_there_is_named(user: User, agent: Agent) -> None:
    with pytest.raises(CannotRun, match="no version 9"):
        start(user, agent, {"count": 1}, ExecutionRequest(version=9))


def test_a_block_that_is_denied_keeps_the_agent_from_running(user: User, agent: Agent) -> None:
    for blocks in ({"deny": ["Agent Output"]}, {"allow": ["Agent Number Input"]}):
        with pytest.raises(BlockDenied):
            start(user, agent, {"count": 1}, ExecutionRequest(permissions={"blocks": blocks}))
    names = ["Agent Number Input", "Agent Short Text Input", "Agent Output"]
    assert start(
        user, agent, {"count": 1}, ExecutionRequest(permissions={"blocks": {"allow": names, "deny": []}})
    ).created


def test_an_agent_that_waits_for_a_webhook_is_started_only_by_one(user: User, make_agent: MakeAgent) -> None:
    agent = make_agent({"hook": ("Generic Webhook Trigger", {}), "out": ("Agent Output", {"name": "y"})})
    with pytest.raises(CannotRun, match="webhook"):
        start(user, agent, {})
    order = ExecutionRequest(node_inputs={"hook": {"payload": {"a": 1}}}, source=Execution.Source.TRIGGER)
    assert start(user, agent, {}, order).created


def test_a_call_of_one_webhook_is_enough(user: User, make_agent: MakeAgent) -> None:
    hook: tuple[str, dict[str, object]] = ("Generic Webhook Trigger", {})
    agent = make_agent({"hook": hook, "other": hook, "out": ("Agent Output", {"name": "y"})})
    order = ExecutionRequest(node_inputs={"hook": {"payload": {"a": 1}}}, source=Execution.Source.TRIGGER)
    assert start(user, agent, {}, order).created
    with pytest.raises(CannotRun, match="webhook"):
        start(user, agent, {}, ExecutionRequest(node_inputs={"out": {"value": 1}}))


def test_over_budget_nothing_is_started(user: User, agent: Agent) -> None:
    Budget.objects.create(user=user, day_limit=Decimal(0))
    with pytest.raises(OverBudget):
        start(user, agent, {"count": 1})


def test_there_is_an_end_to_how_much_one_person_may_have_under_way(
    user: User, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_LIVE_EXECUTIONS_PER_USER", 2)
    for _ in range(2):
        start(user, agent, {"count": 1})
    with pytest.raises(TooManyExecutions):
        start(user, agent, {"count": 1})
    Execution.objects.update(status=Execution.COMPLETED)
    assert start(user, agent, {"count": 1}).created


def test_a_block_that_is_gone_keeps_the_agent_from_running(user: User, agent: Agent) -> None:
    version = agent.versions.get()
    version.graph["nodes"][0]["block_id"] = "gone"
    AgentVersion.objects.filter(pk=version.pk).update(graph=version.graph)
    with pytest.raises(CannotRun, match="gone"):
        start(user, agent, {"count": 1})
