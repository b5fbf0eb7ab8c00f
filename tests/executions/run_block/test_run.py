"""One block by itself: charged once, an effect once per key, stopped in time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from accounts.errors import OverBudget
from accounts.models import Budget, LedgerEntry, User
from blocks.errors import UnknownBlock
from durable.stop_signal import StopSignal
from executions.engine.dependencies import EngineDependencies
from executions.errors import BadInputs, BlockDenied, NotAlone
from executions.models import StoredValue
from executions.run_block.run import TOO_LONG, SingleResult, SingleRun, run_single_block
from tests.blocks.doubles import ScriptedModel
from tests.executions.engine.graphs import registry
from tests.testblocks.copilot_blocks import MARKS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(MARKS, str(tmp_path))
    return tmp_path


@pytest.fixture
def run(user: User) -> Callable[..., SingleResult]:
    model = ScriptedModel()

    def running(
        name: str, *, key: str = "k", cancel: Any = None, replies: Any = (), **facts: Any
    ) -> SingleResult:
        model.replies = list(replies)
        inputs = facts.pop("inputs", {})
        order = SingleRun(block_id=registry().get_by_name(name).id, inputs=inputs, key=key, **facts)
        return run_single_block(user, order, cancel, EngineDependencies(registry=registry(), model=model))

    return running


def ledger() -> list[Decimal]:
    return [entry.amount for entry in LedgerEntry.objects.order_by("created_at")]


def test_a_block_answers_with_its_outputs_by_pin(run: Callable[..., SingleResult]) -> None:
    result = run("Step Through Items", inputs={"items": ["a", "b"]})
    assert result == SingleResult(outputs={"item": ["a", "b"], "key": [0, 1]})
    assert ledger() == []


def test_what_was_emitted_before_an_error_stands(run: Callable[..., SingleResult]) -> None:
    result = run("Test Drip", inputs={"count": 3, "fail_at": 2})
    assert (result.outputs, result.error) == ({"item": [0, 1]}, "There is no more.")


def test_an_effect_happens_once_per_key_and_is_charged_once(
    run: Callable[..., SingleResult], marks: Path
) -> None:
    first = run("Test Mark", inputs={"value": 1})
    again = run("Test Mark", inputs={"value": 1})
    assert first == again == SingleResult(outputs={"value": [1]}, cost=Decimal("0.01"))
    run("Test Mark", inputs={"value": 1}, key="another")
    assert [path.read_text() for path in marks.iterdir()] == ["done\n"] * 2
    assert ledger() == [Decimal("0.01")] * 2


def test_an_effect_that_was_cut_off_is_not_repeated_blindly(
    run: Callable[..., SingleResult], marks: Path
) -> None:
    run("Test Letter", inputs={"value": 1})
    StoredValue.objects.filter(key="single_outcome").delete()  # as if the process had died before its end
    assert "may or may not have happened" in run("Test Letter", inputs={"value": 1}).error
    assert [path.read_text() for path in marks.iterdir()] == ["done\n"]


def test_a_crash_between_run_and_end_makes_nothing_free_and_charges_nothing_twice(
    run: Callable[..., SingleResult], marks: Path
) -> None:
    run("Test Mark", inputs={"value": 1})
    StoredValue.objects.filter(key="single_outcome").delete()
    assert run("Test Mark", inputs={"value": 1}).outputs == {"value": [1]}
    assert ledger() == [Decimal("0.01")]


def test_without_money_nothing_that_costs_is_run(
    run: Callable[..., SingleResult], user: User, marks: Path
) -> None:
    Budget.objects.create(user=user, day_limit=Decimal("0.01"))
    assert run("Test Mark", inputs={"value": 1}).error == ""
    with pytest.raises(OverBudget):
        run("Test Mark", inputs={"value": 1}, key="another")
    with pytest.raises(OverBudget):
        run("AI Text Generator", inputs={"prompt": "Hi"}, replies=["Hello."])
    assert run("Calculator", inputs={"operation": "Add", "a": 1, "b": 1}).outputs == {"result": [2]}
    assert len(list(marks.iterdir())) == 1


def test_what_a_model_charged_is_charged(run: Callable[..., SingleResult]) -> None:
    result = run("AI Text Generator", inputs={"prompt": "Hi"}, replies=["Hello."])
    assert (result.outputs["response"], result.cost) == (["Hello."], Decimal("0.001"))
    assert ledger() == [Decimal("0.001")]


def test_a_block_that_takes_too_long_is_stopped_with_a_way_out(
    run: Callable[..., SingleResult], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = run("Test Sleep", inputs={"hold": str(tmp_path / "never")}, seconds=0.2, tool="run_block")
    assert result.error == TOO_LONG
    [line] = [record for record in caplog.records if "time limit" in record.message]
    assert (line.tool, line.block, line.cap_seconds) == ("run_block", "Test Sleep", 0.2)  # type: ignore[attr-defined]


@pytest.mark.parametrize("deaf", [False, True])
def test_a_cancel_stops_it(run: Callable[..., SingleResult], tmp_path: Path, deaf: bool) -> None:
    stop, hold = StopSignal(), tmp_path / "hold"
    threading.Timer(0.2, stop.set).start()
    result = run("Test Sleep", inputs={"hold": str(hold), "deaf": deaf}, cancel=stop)
    hold.touch()
    assert result.error == "The block was stopped."


def test_what_was_used_before_a_cancel_is_paid_for(run: Callable[..., SingleResult], marks: Path) -> None:
    stop = StopSignal()
    threading.Timer(0.2, stop.set).start()
    run("Test Mark", inputs={"value": 1, "seconds": 3}, cancel=stop)
    assert ledger() == [Decimal("0.01")]


@pytest.mark.parametrize(
    "name", ["Agent Input", "Agent Output", "Agent Executor", "AutoPilot", "Human In The Loop"]
)
def test_blocks_that_belong_into_an_agent_are_refused(run: Callable[..., SingleResult], name: str) -> None:
    with pytest.raises(NotAlone, match="only works inside an agent"):
        run(name)


def test_wrong_unknown_and_denied_are_refused_unrun(run: Callable[..., SingleResult], user: User) -> None:
    with pytest.raises(BadInputs) as refused:
        run("Calculator", inputs={"operation": "Add", "a": 1, "c": 2})
    assert sorted(refused.value.problems) == ["b", "c"]
    with pytest.raises(BlockDenied):
        run("Calculator", permissions={"blocks": {"deny": ["Calculator"]}})
    with pytest.raises(UnknownBlock):
        run_single_block(user, SingleRun(block_id="nonsense", inputs={}, key="k"))
