"""Runs that wait for a person, a time or another agent: the worker is freed, and each goes on exactly once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.utils import timezone

from accounts.models import Budget, User
from durable import jobs
from durable.cancellation import CancelAnswer
from durable.lease import Lease
from durable.runtime import Runtime
from executions import cancellation, limits, wait
from executions.engine import run_attempt
from executions.engine.dependencies import EngineDependencies
from executions.models import Agent, Execution, NodeExecution, Review, StoredValue
from executions.reviews import decisions
from tests.executions.conftest import InlineThreads, fresh, work_on
from tests.executions.engine.graphs import registry

pytestmark = pytest.mark.django_db
Make = Callable[..., Execution]
OUT = ("Agent Output", {"name": "y"})
COUNTDOWN = ("Countdown Timer", {"hours": 2})
ASK: dict[str, Any] = {"ask": ("Human In The Loop", {"data": "draft", "name": "The letter"}), "out": OUT}
ASK_LINKS = ["ask.approved_data -> out.value"]


# --- a person -----------------------------------------------------------------------------------


def test_a_question_frees_the_worker_and_the_decision_resumes_the_same_execution(
    execution_of: Make, user: User
) -> None:
    waiting = work_on(execution_of(ASK, ASK_LINKS))
    assert (waiting.status, waiting.owner, waiting.lease_until, waiting.run_at) == ("WAITING", "", None, None)
    assert (waiting.public_status, waiting.nodes.get().public_status) == ("REVIEW", "REVIEW")
    assert not jobs.claimable(Execution).filter(pk=waiting.pk).exists()
    decisions.decide(Review.objects.get(), approved=True, data="better", by=user)
    assert fresh(waiting).status == "QUEUED"
    done = work_on(waiting)
    assert (done.status, done.outputs) == ("COMPLETED", {"y": ["better"]})
    assert done.nodes.get(node_id="ask").waits_for == ""


def test_other_branches_go_on_while_one_asks(execution_of: Make) -> None:
    nodes = ASK | {"other": ("Store Value", {"input": 5}), "side": ("Agent Output", {"name": "side"})}
    waiting = work_on(execution_of(nodes, [*ASK_LINKS, "other.output -> side.value"]))
    assert (waiting.public_status, waiting.outputs) == ("REVIEW", {"side": [5]})


def test_deciding_one_of_two_questions_leaves_the_other_waiting(execution_of: Make, user: User) -> None:
    nodes = {
        "items": ("Step Through Items", {"items": ["a", "b"]}),
        "ask": ("Human In The Loop", {"name": "n"}),
        "out": OUT,
    }
    waiting = work_on(execution_of(nodes, ["items.item -> ask.data", *ASK_LINKS]))
    second, first = Review.objects.order_by("-data")
    decisions.decide(second, approved=True, by=user)
    still = work_on(waiting)
    assert (still.public_status, still.outputs) == ("REVIEW", {})
    decisions.decide(first, approved=True, by=user)
    done = work_on(waiting)
    assert (done.status, done.outputs) == ("COMPLETED", {"y": ["a", "b"]})
    assert Review.objects.count() == 2


def test_a_call_that_comes_while_it_is_about_to_wait_is_heard(execution_of: Make, user: User) -> None:
    """The decision is made after the block asked and before the execution is put aside."""
    execution = execution_of(ASK, ASK_LINKS)

    class Hasty(InlineThreads):
        def submit(self, tasks: Any) -> None:
            super().submit(tasks)
            for review in Review.objects.filter(state="waiting"):
                decisions.decide(review, approved=True, by=user)

    done = work_on(execution, Hasty())
    assert (done.status, done.outputs) == ("COMPLETED", {"y": ["draft"]})


def test_cancelling_an_execution_that_asks_ends_it_and_withdraws_the_question(execution_of: Make) -> None:
    waiting = work_on(execution_of(ASK, ASK_LINKS))
    assert cancellation.cancel(waiting.pk) == CancelAnswer(cancelled=True)
    ended = fresh(waiting)
    assert (ended.status, ended.error) == ("TERMINATED", "The run was stopped.")
    assert ended.nodes.get().status == "TERMINATED"
    assert cancellation.cancel(waiting.pk).reason == "already_cancelled"


def test_a_sensitive_block_asks_first_and_runs_with_what_the_person_left(
    execution_of: Make, user: User
) -> None:
    nodes = {"print": ("Print To Console", {"text": "hello"}), "out": OUT}
    waiting = work_on(execution_of(nodes, ["print.output -> out.value"]))
    assert waiting.public_status == "REVIEW"
    decisions.decide(Review.objects.get(), approved=True, data={"text": "hi"}, by=user)
    done = work_on(waiting)
    assert (done.outputs, done.nodes.get(node_id="print").inputs) == ({"y": ["hi"]}, {"text": "hi"})


def test_a_sensitive_block_that_is_not_approved_is_not_run(execution_of: Make, user: User) -> None:
    waiting = work_on(execution_of({"print": ("Print To Console", {"text": "hello"})}))
    decisions.decide(Review.objects.get(), approved=False, message="Rather not.", by=user)
    done = work_on(waiting)
    assert (done.status, done.error) == (
        "FAILED",
        "Print To Console failed: A person did not approve Print To Console: Rather not.",
    )


def test_without_safe_mode_nobody_is_asked(execution_of: Make) -> None:
    nodes = {"print": ("Print To Console", {"text": "hello"}), "out": OUT}
    done = work_on(execution_of(nodes, ["print.output -> out.value"], safe_mode=False))
    assert (done.status, Review.objects.count()) == ("COMPLETED", 0)


# --- a time -------------------------------------------------------------------------------------


def test_a_long_wait_frees_the_worker_until_it_is_due(execution_of: Make) -> None:
    nodes = {"wait": ("Countdown Timer", {"input_message": "now", "hours": 2}), "out": OUT}
    waiting = work_on(execution_of(nodes, ["wait.output_message -> out.value"]))
    assert (waiting.status, waiting.public_status, waiting.owner) == ("WAITING", "RUNNING", "")
    assert waiting.lease_until is None and waiting.run_at is not None
    assert timedelta(hours=1.9) < waiting.run_at - timezone.now() < timedelta(hours=2.1)
    assert waiting.nodes.get(node_id="wait").public_status == "RUNNING"
    assert not jobs.claimable(Execution).filter(pk=waiting.pk).exists()
    let_time_pass(waiting, hours=2)
    assert jobs.to_poke(Execution).filter(pk=waiting.pk).exists()
    done = work_on(waiting)
    assert (done.status, done.outputs, done.crashes) == ("COMPLETED", {"y": ["now"]}, 0)


def test_a_repeated_countdown_emits_each_round_once_over_all_its_waits(execution_of: Make) -> None:
    nodes = {"wait": ("Countdown Timer", {"hours": 1, "repeat": 3}), "out": OUT}
    execution = work_on(execution_of(nodes, ["wait.output_message -> out.value"]))
    for count in (1, 2):
        let_time_pass(execution, hours=1)
        execution = work_on(execution)
        assert (execution.public_status, len(execution.outputs["y"])) == ("RUNNING", count)
    let_time_pass(execution, hours=1)
    done = work_on(execution)
    assert (done.status, len(done.outputs["y"])) == ("COMPLETED", 3)
    assert done.nodes.filter(node_id="wait").count() == 1


def let_time_pass(execution: Execution, *, hours: float) -> None:
    """Move what is written down into the past, for nobody can move the clock."""
    span = timedelta(hours=hours)
    row = execution.nodes.get(node_id="wait")
    assert row.wake_at is not None and execution.run_at is not None
    execution.nodes.filter(pk=row.pk).update(wake_at=row.wake_at - span)
    Execution.objects.filter(pk=execution.pk).update(run_at=execution.run_at - span)
    kept = StoredValue.objects.get(key="countdown_started_at")
    moved = datetime.fromisoformat(str(kept.value)) - span
    StoredValue.objects.filter(pk=kept.pk).update(value=moved.isoformat())


def test_a_worker_that_dies_as_a_wait_is_over_is_taken_over_and_nothing_is_emitted_twice(
    execution_of: Make,
) -> None:
    """It is claimed when it is due, and its worker dies before it has done anything."""
    nodes = {"wait": ("Countdown Timer", {"hours": 1, "repeat": 2}), "out": OUT}
    waiting = work_on(execution_of(nodes, ["wait.output_message -> out.value"]))
    for rounds in (1, 2):
        let_time_pass(fresh(waiting), hours=1)
        assert jobs.claim(Execution, waiting.pk, owner="dies") is not None
        assert not jobs.claimable(Execution).exists()
        Execution.objects.update(lease_until=Execution.clock.after(-60))
        after = work_on(waiting)
        assert (len(after.outputs["y"]), after.crashes) == (rounds, 0)
    assert (after.status, after.nodes.filter(node_id="wait").count()) == ("COMPLETED", 1)


def test_a_worker_that_dies_before_it_can_put_the_execution_aside_is_taken_over(execution_of: Make) -> None:
    """The run's row says that it waits; the execution's row still says that a worker has it."""
    waiting = work_on(execution_of({"wait": COUNTDOWN}))
    Execution.objects.update(
        status=Execution.RUNNING, owner="dead", lease_until=Execution.clock.after(-60), run_at=None
    )
    again = work_on(waiting)
    assert (again.status, again.attempt, again.crashes) == ("WAITING", 2, 1)
    assert again.run_at is not None and again.run_at > timezone.now() + timedelta(hours=1.9)
    assert again.nodes.count() == 1


def test_who_waits_for_a_time_keeps_a_place_among_those_that_run_and_who_asks_does_not(
    execution_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_RUNNING_EXECUTIONS_PER_AGENT", 1)
    first = work_on(execution_of({"wait": COUNTDOWN}))
    second = Execution.objects.create(user=first.user, agent=first.agent, version=1, status=Execution.QUEUED)
    assert not jobs.to_poke(Execution).filter(pk=second.pk).exists()
    assert jobs.claim(Execution, second.pk, owner="w") is None
    Execution.objects.filter(pk=first.pk).update(asks_person=True)
    assert jobs.to_poke(Execution).filter(pk=second.pk).exists()
    assert jobs.claim(Execution, second.pk, owner="w") is not None


def test_cancelling_a_long_wait_ends_it_at_once(execution_of: Make) -> None:
    waiting = work_on(execution_of({"wait": COUNTDOWN}))
    assert cancellation.cancel(waiting.pk).cancelled
    assert fresh(waiting).status == "TERMINATED"


# --- another agent ------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SUB_AGENT_PATIENCE_SECONDS", 0.0)


def child_graph() -> tuple[dict[str, Any], list[str]]:
    nodes = {"in": ("Agent Input", {"name": "topic"}), "out": ("Agent Output", {"name": "Results!"})}
    return nodes, ["in.result -> out.value"]


def caller(child: Agent, **values: Any) -> tuple[str, dict[str, Any]]:
    version = child.versions.get()
    facts = {
        "user_id": "x",
        "graph_id": str(child.pk),
        "graph_version": 1,
        "input_schema": version.input_schema,
        "output_schema": version.output_schema,
    }
    return ("Agent Executor", facts | values)


@pytest.fixture
def family(make_agent: Callable[..., Agent], execution_of: Make, impatient: None) -> Callable[..., Execution]:
    def make(child: Agent | None = None, **facts: Any) -> Execution:
        child = child or make_agent(*child_graph())
        nodes = {"in": ("Agent Input", {"name": "x"}), "sub": caller(child), "out": OUT}
        links = ["in.result -> sub.topic", "sub.Results! -> out.value"]
        return execution_of(nodes, links, {"x": "cats"}, **facts)

    return make


def test_a_parent_waits_without_a_worker_for_its_child_and_goes_on_with_its_outputs(family: Make) -> None:
    parent = work_on(family())
    assert (parent.status, parent.public_status, parent.owner) == ("WAITING", "RUNNING", "")
    assert not jobs.claimable(Execution).filter(pk=parent.pk).exists()
    child = Execution.objects.get(parent__execution=parent)
    assert (child.status, child.inputs, child.depth, child.source) == (
        "QUEUED",
        {"topic": "cats"},
        1,
        "agent",
    )
    work_on(child)
    assert (fresh(parent).status, fresh(parent).lease_until) == ("WAITING", None)
    assert jobs.claimable(Execution).filter(pk=parent.pk).exists()
    done = work_on(parent)
    assert (done.status, done.outputs, done.crashes) == ("COMPLETED", {"y": ["cats"]}, 0)
    assert Execution.objects.count() == 2


def test_a_child_that_fails_ends_without_outputs_and_the_row_says_why(
    family: Make, make_agent: Callable[..., Agent]
) -> None:
    nodes, links = child_graph()
    child = make_agent(nodes | {"bad": ("Calculator", {"operation": "Divide", "a": 1, "b": 0})}, links)
    parent = work_on(family(child))
    work_on(Execution.objects.get(parent__execution=parent))
    done = work_on(parent)
    assert (done.status, done.outputs) == ("COMPLETED", {})
    assert "ended as FAILED: Calculator failed" in done.nodes.get(node_id="sub").error


def test_cancelling_a_parent_stops_its_children(
    family: Make, django_capture_on_commit_callbacks: Any
) -> None:
    parent = work_on(family())
    child = Execution.objects.get(parent__execution=parent)
    with django_capture_on_commit_callbacks(execute=True):
        cancellation.cancel(parent.pk)
    assert (fresh(parent).status, fresh(child).status) == ("TERMINATED", "TERMINATED")


def test_a_child_whose_parent_has_ended_ends_by_itself(family: Make) -> None:
    parent = work_on(family())
    child = Execution.objects.get(parent__execution=parent)
    Execution.objects.filter(pk=parent.pk).update(status=Execution.CANCELLED, owner="")
    done = work_on(child)
    assert done.status == "TERMINATED"


def test_a_parent_shows_that_a_person_is_asked_in_its_child(
    family: Make, make_agent: Callable[..., Agent], user: User
) -> None:
    nodes, _ = child_graph()
    asking = make_agent(
        nodes | {"ask": ("Human In The Loop", {"name": "n"})},
        ["in.result -> ask.data", "ask.approved_data -> out.value"],
    )
    parent = work_on(family(asking))
    child = Execution.objects.get(parent__execution=parent)
    work_on(child)
    assert fresh(child).public_status == "REVIEW"
    parent = work_on(parent)
    assert parent.public_status == "REVIEW"
    decisions.decide(Review.objects.get(), approved=True, by=user)
    assert (fresh(child).status, fresh(parent).status) == ("QUEUED", "QUEUED")
    work_on(child)
    assert work_on(parent).outputs == {"y": ["cats"]}


def test_an_agent_that_is_not_the_users_fails_the_node_with_words(
    family: Make, make_agent: Callable[..., Agent]
) -> None:
    stranger = User.objects.create(username="bob")
    foreign = make_agent(*child_graph(), owner=stranger)
    execution = family(foreign)
    done = work_on(execution)
    assert (done.status, Execution.objects.count()) == ("FAILED", 1)
    assert "There is no agent" in done.error


def test_agents_inside_agents_end_somewhere(family: Make) -> None:
    done = work_on(family(depth=limits.MAX_AGENT_DEPTH))
    assert done.status == "FAILED"
    assert "at most" in done.error


def test_a_child_is_not_started_without_money(family: Make, user: User) -> None:
    Budget.objects.create(user=user, day_limit=Decimal(0))
    done = work_on(family())
    assert (done.status, done.end_reason, Execution.objects.count()) == ("FAILED", "budget", 1)


# --- being called -------------------------------------------------------------------------------


def test_calling_one_that_ended_or_is_not_there_changes_nothing(execution_of: Make) -> None:
    done = work_on(execution_of({"a": ("Store Value", {"input": 1})}))
    wait.wake(done.pk)
    wait.wake(NodeExecution.objects.first().pk)  # type: ignore[union-attr]
    assert (fresh(done).status, fresh(done).wakes) == ("COMPLETED", 0)


def test_a_stop_that_meets_an_execution_about_to_wait_for_a_time_is_not_forgotten(execution_of: Make) -> None:
    """The wait would be a week long; nobody has told the worker of the stop when it puts the execution aside."""
    execution = execution_of({"wait": ("Countdown Timer", {"input_message": "now", "hours": 7 * 24})})

    def work(lease: Lease) -> None:
        assert jobs.request_cancel(Execution, lease.job_id)
        run_attempt.run(lease, EngineDependencies(threads=InlineThreads(), registry=registry()))

    Runtime().run(Execution, execution.pk, work)
    assert (fresh(execution).status, fresh(execution).end_reason) == ("TERMINATED", "cancelled")


# --- rows of older versions ---------------------------------------------------------------------


def test_rows_that_waited_before_this_version_wait_as_they_did(execution_of: Make, user: User) -> None:
    asking, pausing = work_on(execution_of(ASK, ASK_LINKS)), work_on(execution_of({"wait": COUNTDOWN}))
    handed_over = execution_of(ASK, ASK_LINKS, status=Execution.RUNNING)
    due = pausing.run_at
    migration = import_module("executions.migrations.0006_waiting_executions")
    migration.wait_as_before(apps, None)
    assert [fresh(one).status for one in (asking, pausing)] == ["REVIEW", "RUNNING"]
    assert (fresh(pausing).lease_until, fresh(pausing).run_at) == (due, None)
    assert set(NodeExecution.objects.values_list("status", flat=True)) == {"REVIEW", "RUNNING"}
    migration.wait_as_waiting(apps, None)
    assert fresh(handed_over).status == "RUNNING"
    for one in (asking, pausing):
        found = fresh(one)
        assert (found.status, found.run_at, found.lease_until) == ("WAITING", one.run_at, None)
        assert (found.public_status, found.nodes.get().status) == (one.public_status, "WAITING")
    decisions.decide(Review.objects.get(), approved=True, by=user)
    assert work_on(asking).outputs == {"y": ["draft"]}


def test_a_question_that_an_older_worker_asked_after_the_migration_is_answered(
    execution_of: Make, user: User
) -> None:
    """Workers are replaced one after the other; an old one still writes REVIEW."""
    asking = work_on(execution_of(ASK, ASK_LINKS))
    Execution.objects.update(status="REVIEW", asks_person=False)
    asking.nodes.update(status="REVIEW")
    assert fresh(asking).public_status == "REVIEW"
    decisions.decide(Review.objects.get(), approved=True, by=user)
    assert work_on(asking).outputs == {"y": ["draft"]}
