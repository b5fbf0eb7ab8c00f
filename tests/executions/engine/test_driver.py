"""Executions with rows: what is committed, what is repeated after a crash, what is charged, how each way out ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Budget, LedgerEntry, User
from durable import jobs
from durable import limits as durable_limits
from durable.errors import LeaseLost
from executions import limits as executions_limits
from executions import signals
from executions.engine import progress, run_attempt
from executions.engine.dependencies import EngineDependencies
from executions.models import Execution, NodeExecution
from executions.models.status import Status
from tests.executions.conftest import InlineThreads, fresh, rows_of, work_on
from tests.executions.engine.graphs import registry
from tests.testblocks.copilot_blocks import MARKS
from webhooks.models import WebhookDelivery, WebhookEndpoint
from workspace import limits as workspace_limits

IN = ("Agent Input", {"name": "x"})
OUT = ("Agent Output", {"name": "y"})
SUM = {"in": IN, "sum": ("Calculator", {"operation": "Add", "b": 1}), "out": OUT}
SUM_LINKS = ["in.result -> sum.a", "sum.result -> out.value"]
Make = Callable[..., Execution]

pytestmark = pytest.mark.django_db


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(MARKS, str(tmp_path))
    return tmp_path


def test_an_execution_runs_to_its_outputs_and_leaves_a_row_per_run(execution_of: Make) -> None:
    done = work_on(execution_of(SUM, SUM_LINKS, {"x": 41}))
    assert (done.status, done.end_reason, done.outputs) == ("COMPLETED", "done", {"y": [42]})
    assert rows_of(done) == [("in", 1, "COMPLETED"), ("sum", 1, "COMPLETED"), ("out", 1, "COMPLETED")]
    row = done.nodes.get(node_id="sum")
    assert row.inputs == {"operation": "Add", "b": 1, "a": 41}
    assert row.outputs == [["result", 42]]
    assert row.started_at and row.ended_at and row.started_at <= row.ended_at
    assert done.worked_seconds > 0


def test_a_failed_node_fails_the_execution_with_words(execution_of: Make) -> None:
    nodes = SUM | {"sum": ("Calculator", {"operation": "Divide", "b": 0})}
    done = work_on(execution_of(nodes, SUM_LINKS, {"x": 1}))
    assert (done.status, done.end_reason) == ("FAILED", "node_failed")
    assert done.error.startswith("Calculator failed: ")
    assert rows_of(done)[-1] == ("sum", 1, "FAILED")


def test_a_graph_with_a_block_that_is_gone_fails_with_words(execution_of: Make) -> None:
    execution = execution_of(SUM, SUM_LINKS, {"x": 1})
    version = execution.agent.versions.get()
    version.graph["nodes"][0]["block_id"] = "no-such-block"
    type(version).objects.filter(pk=version.pk).update(graph=version.graph)
    done = work_on(execution)
    assert (done.status, done.end_reason) == ("FAILED", "cannot_run")
    assert "no-such-block" in done.error


def test_a_version_that_is_gone_fails_with_words(execution_of: Make) -> None:
    execution = execution_of(SUM, SUM_LINKS, {"x": 1})
    execution.agent.versions.all().delete()
    assert "no longer exists" in work_on(execution).error


def test_what_was_committed_is_not_run_again(execution_of: Make, marks: Path) -> None:
    nodes = {"a": ("Test Mark", {"value": 1}), "b": ("Test Mark", {}), "out": OUT}
    execution = execution_of(nodes, ["a.value -> b.value", "b.value -> out.value"])
    first = work_on(execution)
    NodeExecution.objects.filter(node_id="out").delete()
    forget_end(first)
    again = work_on(first)
    assert (again.status, again.outputs, again.attempt) == ("COMPLETED", {"y": [1]}, 2)
    assert [path.read_text() for path in marks.iterdir()] == ["done\n", "done\n"]
    assert again.nodes.get(node_id="a").attempt == 1


def forget_end(execution: Execution) -> None:
    """As if the worker had died before the end was written."""
    Execution.objects.filter(pk=execution.pk).update(
        status=Execution.RUNNING, owner="dead", lease_until="2020-01-01T00:00Z", ended_at=None, outputs={}
    )


def interrupt(execution: Execution, node_id: str) -> None:
    """As if the worker had died while the node was running."""
    row = execution.nodes.filter(node_id=node_id)
    row.update(status=Status.RUNNING, seq=None, ended_at=None, outputs=[], error="")
    forget_end(execution)


def test_an_effect_under_its_key_is_repeated_and_happens_once(execution_of: Make, marks: Path) -> None:
    done = work_on(execution_of({"a": ("Test Mark", {"value": 1}), "out": OUT}, ["a.value -> out.value"]))
    interrupt(done, "a")
    done.nodes.filter(node_id="out").delete()
    again = work_on(done)
    assert (again.status, again.outputs) == ("COMPLETED", {"y": [1]})
    assert [path.read_text() for path in marks.iterdir()] == ["done\n"]


def test_a_foreign_effect_in_doubt_is_not_repeated_and_says_so(execution_of: Make, marks: Path) -> None:
    done = work_on(execution_of({"a": ("Test Letter", {"value": 1})}))
    interrupt(done, "a")
    again = work_on(done)
    assert (again.status, again.end_reason) == ("FAILED", "node_failed")
    assert "may or may not have happened" in again.error
    assert [path.read_text() for path in marks.iterdir()] == ["done\n"]


def test_each_run_that_costs_is_charged_once_and_summed_up(
    execution_of: Make, user: User, marks: Path
) -> None:
    nodes = {"items": ("Step Through Items", {"items": [1, 2, 3]}), "mark": ("Test Mark", {}), "out": OUT}
    execution = execution_of(nodes, ["items.item -> mark.value", "mark.value -> out.value"])
    done = work_on(execution)
    assert done.cost == Decimal("0.03")
    entries = LedgerEntry.objects.filter(user=user, job_id=done.pk)
    assert {entry.key for entry in entries} == {f"node:{row.pk}" for row in done.nodes.filter(node_id="mark")}
    assert {row.cost for row in done.nodes.filter(node_id="mark")} == {Decimal("0.01")}
    forget_end(done)
    work_on(done)
    assert entries.count() == 3


def test_without_money_nothing_that_costs_is_run(execution_of: Make, user: User, marks: Path) -> None:
    Budget.objects.create(user=user, day_limit=Decimal("0.01"))
    nodes = {"a": ("Test Mark", {"value": 1}), "b": ("Test Mark", {}), "out": OUT}
    done = work_on(
        execution_of(nodes, ["a.value -> b.value", "b.value -> out.value", "b.error -> out.value"])
    )
    assert (done.status, done.end_reason) == ("FAILED", "budget")
    assert "budget for this day is used up" in done.error
    assert len(list(marks.iterdir())) == 1
    assert done.cost == Decimal("0.01")


def test_runs_of_a_node_that_keeps_something_between_them_come_one_after_the_other(
    execution_of: Make,
) -> None:
    nodes = {
        "items": ("Step Through Items", {"items": [{"id": n} for n in range(6)]}),
        "some": ("Data Sampling", {"sample_size": 3, "sampling_method": "top", "accumulate": True}),
        "out": OUT,
    }
    execution = execution_of(nodes, ["items.item -> some.data", "some.sampled_data -> out.value"])
    expected = [[{"id": 0}, {"id": 1}, {"id": 2}], [{"id": 3}, {"id": 4}, {"id": 5}]]
    assert work_on(execution).outputs == {"y": expected}


def test_a_large_value_is_kept_as_a_file_and_blocks_get_the_value(execution_of: Make) -> None:
    text = "word " * (executions_limits.MAX_STORED_VALUE_BYTES // 4)
    nodes = {
        "in": IN,
        "count": ("Word Character Count", {}),
        "n": OUT,
        "all": ("Agent Output", {"name": "all"}),
    }
    links = ["in.result -> count.text", "count.character_count -> n.value", "in.result -> all.value"]
    done = work_on(execution_of(nodes, links, {"x": text}))
    assert done.outputs["y"] == [len(text)]
    [note] = done.outputs["all"]
    assert note["large_value"] is True
    assert note["file"].startswith("workspace://")
    assert done.nodes.get(node_id="in").outputs == [["result", note]]
    assert len(str(done.nodes.get(node_id="count").inputs)) < 500


def test_a_part_of_a_large_value_can_be_linked(execution_of: Make) -> None:
    big = {"text": "x" * executions_limits.MAX_STORED_VALUE_BYTES, "n": 7}
    done = work_on(execution_of({"in": IN, "out": OUT}, ["in.result_#_n -> out.value"], {"x": big}))
    assert done.outputs == {"y": [7]}


def test_a_value_too_large_for_a_full_workspace_fails_with_words(
    execution_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_limits, "MAX_WORKSPACE_BYTES", 1000)
    big = "x" * (executions_limits.MAX_STORED_VALUE_BYTES + 1)
    done = work_on(execution_of({"in": IN, "out": OUT}, ["in.result -> out.value"], {"x": big}))
    assert done.status == "FAILED"
    assert "too large to pass on" in done.error


def test_an_execution_that_has_worked_too_long_is_ended(execution_of: Make) -> None:
    execution = execution_of(SUM, SUM_LINKS, {"x": 1}, worked_seconds=executions_limits.MAX_EXECUTION_SECONDS)
    done = work_on(execution)
    assert (done.status, done.end_reason) == ("FAILED", "timed_out")


def test_a_cancelled_execution_that_is_claimed_ends_at_once(execution_of: Make) -> None:
    execution = execution_of(
        SUM, SUM_LINKS, {"x": 1}, status=Execution.RUNNING, cancel_requested_at="2020-01-01T00:00Z"
    )
    done = work_on(execution)
    assert (done.status, done.end_reason, done.nodes.count()) == ("TERMINATED", "cancelled", 0)


def test_an_ended_execution_is_not_run_again(execution_of: Make) -> None:
    done = work_on(execution_of(SUM, SUM_LINKS, {"x": 1}))
    assert work_on(done).attempt == 1
    assert fresh(done).ended_at == done.ended_at


def test_a_run_that_emits_slowly_passes_its_outputs_on_before_its_end(
    execution_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executions_limits, "EARLY_OUTPUT_SECONDS", -1.0)
    nodes = {"drip": ("Test Drip", {"count": 3}), "out": OUT}
    done = work_on(execution_of(nodes, ["drip.item -> out.value"]))
    assert done.outputs == {"y": [0, 1, 2]}


def test_outputs_that_were_passed_on_stand_after_a_crash_and_are_not_passed_on_twice(
    execution_of: Make,
) -> None:
    nodes: dict[str, Any] = {"drip": ("Test Drip", {"count": 4}), "out": OUT}
    execution = work_on(execution_of(nodes, ["drip.item -> out.value"]))
    drip = execution.nodes.filter(node_id="drip")
    execution.nodes.filter(node_id="out", run__gt=2).delete()
    execution.nodes.filter(node_id="out").update(seq=None)
    for number in (1, 2):
        execution.nodes.filter(node_id="out", run=number).update(seq=number + 1)
    drip.update(
        status=Status.RUNNING, seq=None, ended_at=None, outputs=[["item", 0], ["item", 1]], early=[[1, 2]]
    )
    forget_end(execution)
    again = work_on(execution)
    assert again.outputs == {"y": [0, 1, 2, 3]}
    assert again.nodes.filter(node_id="out").count() == 4


def test_deaths_count_only_while_nothing_gets_on(execution_of: Make, marks: Path) -> None:
    crashed = {"status": Execution.RUNNING, "owner": "dead", "lease_until": "2020-01-01T00:00Z"}
    execution = execution_of(SUM, SUM_LINKS, {"x": 1}, crashes=durable_limits.MAX_ATTEMPTS - 2, **crashed)
    assert (work_on(execution).status, fresh(execution).crashes) == ("COMPLETED", 0)
    poison = execution_of(SUM, SUM_LINKS, {"x": 1}, crashes=durable_limits.MAX_ATTEMPTS - 1, **crashed)
    jobs.give_up(Execution)
    assert (fresh(poison).status, fresh(poison).end_reason) == ("FAILED", "worker_lost")
    assert "its worker died each time" in fresh(poison).error


@pytest.mark.parametrize("commits", [2, 3, 4])
def test_an_attempt_that_dies_after_every_few_commits_gives_the_same_outputs_and_charges(
    execution_of: Make, user: User, marks: Path, commits: int
) -> None:
    nodes = {
        "items": ("Step Through Items", {"items": [3, 1, 2]}),
        "mark": ("Test Mark", {}),
        "none": ("Create List", {"values": []}),
        "all": ("Add To List", {}),
        "out": OUT,
    }
    links = [
        "items.item -> mark.value",
        "mark.value -> all.entry",
        "none.list -> all.list",
        "all.updated_list -> all.list",
        "all.updated_list -> out.value",
    ]
    execution = execution_of(nodes, links)
    attempts = 0
    while not fresh(execution).is_terminal:
        attempts += 1
        die_after(execution, commits)
    done = fresh(execution)
    assert (done.status, done.outputs) == ("COMPLETED", {"y": [[3], [3, 1], [3, 1, 2]]})
    assert attempts > 1
    assert LedgerEntry.objects.filter(user=user).count() == 3
    assert [path.read_text() for path in marks.iterdir()] == ["done\n"] * 3


def die_after(execution: Execution, commits: int) -> None:
    """One attempt whose worker is gone right after so many commits; its lease is over at once."""
    lease = jobs.claim(Execution, execution.pk, owner="a worker of a test")
    assert lease is not None
    commit, left = lease.commit, [commits]

    def counted(*args: Any, **changes: Any) -> Any:
        result = commit(*args, **changes)
        left[0] -= 1
        if not left[0] and changes.get("status") not in Execution.TERMINAL:
            raise LeaseLost
        return result

    lease.commit = counted  # type: ignore[method-assign]
    with contextlib.suppress(LeaseLost):
        run_attempt.run(lease, EngineDependencies(threads=InlineThreads(), registry=registry()))
    Execution.objects.filter(pk=execution.pk, status=Execution.RUNNING).update(
        lease_until="2020-01-01T00:00Z"
    )


def test_those_who_asked_for_it_are_told_of_the_end_once(execution_of: Make, user: User) -> None:
    WebhookEndpoint.objects.create(
        user=user, url="https://example.org/hook", events=["execution.finished"], sealed_secret="sealed"
    )
    done = work_on(execution_of(SUM, SUM_LINKS, {"x": 41}))
    [delivery] = WebhookDelivery.objects.all()
    data = delivery.payload["data"]
    assert (data["execution_id"], data["status"], data["outputs"]) == (str(done.pk), "COMPLETED", {"y": [42]})
    heard: list[str] = []

    def hear(execution: Execution, **kwargs: Any) -> None:
        heard.append(execution.status)

    signals.execution_ended.connect(hear)
    try:
        work_on(
            execution_of(SUM | {"sum": ("Calculator", {"operation": "Divide", "b": 0})}, SUM_LINKS, {"x": 1})
        )
    finally:
        signals.execution_ended.disconnect(hear)
    assert heard == ["FAILED"]


def test_secret_pins_are_not_kept_in_rows(execution_of: Make) -> None:
    done = work_on(execution_of({"hook": ("Generic Webhook Trigger", {"secret_token": "s3cret"})}))
    assert done.nodes.get().inputs == {"secret_token": "[REDACTED]"}


@pytest.mark.parametrize("known", ["Agent Output", "Note"])
def test_an_agent_of_one_node_completes(execution_of: Make, known: str) -> None:
    values = {"name": "y", "value": 1} if known == "Agent Output" else {"text": "hello"}
    done = work_on(execution_of({"a": (known, values)}))
    assert done.status == "COMPLETED"


def test_live_news_of_a_pin_with_the_name_of_a_secret_do_not_tell_it() -> None:
    assert progress.excerpt("token", "s3cret") == "[REDACTED]"
    assert progress.excerpt("result", {"api_key": "s3cret", "name": "Ann"}) == {
        "api_key": "[REDACTED]",
        "name": "Ann",
    }


TWO_HOOKS = {
    "a": ("Generic Webhook Trigger", {}),
    "b": ("Generic Webhook Trigger", {}),
    "of_a": ("Agent Output", {"name": "a"}),
    "of_b": ("Agent Output", {"name": "b"}),
    "in": IN,
    "out": OUT,
}
TWO_LINKS = ["a.payload -> of_a.value", "b.payload -> of_b.value", "in.result -> out.value"]


@pytest.mark.parametrize("called", [{"b"}, {"a", "b"}])
def test_only_trigger_blocks_that_were_called_begin(execution_of: Make, called: set[str]) -> None:
    """What follows the others stays idle; what waits for no call begins all the same."""
    brought = {node: {"payload": {"from": node}} for node in called}
    done = work_on(execution_of(TWO_HOOKS, TWO_LINKS, {"x": 1}, node_inputs=brought))
    assert done.status == "COMPLETED", done.error
    assert done.outputs == {node: [{"from": node}] for node in called} | {"y": [1]}
    ran = set(done.nodes.values_list("node_id", flat=True))
    assert ran == {"in", "out", *called, *(f"of_{node}" for node in called)}
