"""Calls of one step: side by side, each written down, none able to hurt the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from durable import storable
from durable.errors import HandOver, LeaseLost
from durable.stop_signal import StopReason
from llm.types import ToolCallRequest
from tests.testtools.copilot_tools import PureArgs, Value
from tests.testtools.models import TestEffect
from tests.tools.conftest import Bench, Done, NoArgs, call, eventually
from tools import limits, registry
from tools.base import Effect, tool
from tools.context import ToolContext
from tools.dispatch import cancel_call
from tools.errors import ToolError
from tools.models import ToolCall, calls_of
from tools.permissions import Permissions

State = ToolCall.State


def test_a_call_is_written_down_before_it_runs_and_again_when_it_ended(bench: Bench) -> None:
    seen: list[ToolCall] = []

    @tool()
    def look(args: NoArgs, context: ToolContext) -> Done:
        """See the own row."""
        seen.append(ToolCall.objects.get(key=context.key))
        return Done()

    with registry.override(look):
        finished = bench.run_one("look")
    assert [(row.state, row.attempt, row.result) for row in seen] == [(State.STARTED, 1, None)]
    row = bench.row("c1")
    assert (row.state, row.result) == (State.SUCCEEDED, finished.output)
    assert row.ended_at is not None and row.user == bench.user
    assert finished.output == {"type": "done", "message": "Done.", "session_id": str(bench.session_id)}
    assert bench.journal.finished == [finished]


def test_calls_of_a_step_run_at_the_same_time_and_answer_in_their_order(bench: Bench) -> None:
    meeting = threading.Barrier(3, timeout=120)

    @tool()
    def meet(args: NoArgs, context: ToolContext) -> Done:
        """Wait for the two others: only possible when all three run at once."""
        meeting.wait()
        return Done(message=context.call_id)

    with registry.override(meet):
        finished = bench.run(*(call("meet", id=name) for name in ("b", "a", "c")))
    assert [item.output["message"] for item in finished] == ["b", "a", "c"]
    assert [row.call_id for row in calls_of(bench.turn_id)] == ["b", "a", "c"]


def test_all_intents_of_a_step_are_one_transaction(bench: Bench) -> None:
    bench.run(*(call("test_pure", id=str(number)) for number in range(5)))
    assert bench.journal.commits == 1 + 5


def test_one_failing_call_loses_none_of_the_others(bench: Bench) -> None:
    finished = bench.run(
        call("test_fail", id="final", how="final"),
        call("test_fail", id="retry", how="retry"),
        call("test_fail", id="crash", how="crash"),
        call("test_fail", id="exit", how="exit"),
        call("test_fail", id="recursion", how="recursion"),
        call("test_pure", id="good", value="here"),
    )
    assert [item.state for item in finished] == [State.FAILED] * 5 + [State.SUCCEEDED]
    assert [item.output.get("error") for item in finished] == [
        "failed", "try_again", "internal", "internal", "internal", None,
    ]  # fmt: skip
    assert finished[5].output["value"] == "here"
    assert finished[5].error_text is None and finished[0].error_text == "It cannot be done."


def test_three_at_once_of_which_one_fails_and_one_is_cancelled_answer_each_for_itself(bench: Bench) -> None:
    meeting = threading.Barrier(3, timeout=120)

    @tool()
    def meet(args: PureArgs, context: ToolContext) -> Done:
        """Wait for the others, then end as told."""
        meeting.wait()
        if args.value == "cancelled":
            assert cancel_call(context.key)
            context.cancelled.wait(20)
            context.stop_if_cancelled()
        if args.value == "failed":
            raise ToolError("It cannot be done.")
        return Done(message=f"{context.call_id} is done")

    with registry.override(meet):
        finished = bench.run(*(call("meet", id=end, value=end) for end in ("cancelled", "failed", "good")))
    assert [(item.call_id, item.state) for item in finished] == [
        ("cancelled", State.CANCELLED),
        ("failed", State.FAILED),
        ("good", State.SUCCEEDED),
    ]
    assert finished[2].output["message"] == "good is done"
    assert [row.state for row in calls_of(bench.turn_id)] == [item.state for item in finished]


def test_an_unexpected_error_tells_the_model_nothing_of_its_text(bench: Bench) -> None:
    finished = bench.run_one("test_fail", how="crash")
    assert "hunter2" not in str(finished) and "test_fail failed" in finished.output["message"]


def bad_calls() -> dict[str, tuple[ToolCallRequest, str]]:
    def raw(arguments: str) -> ToolCallRequest:
        return ToolCallRequest(id="c1", name="test_sleep", arguments=arguments)

    return {
        "unknown tool": (call("test_slepp", seconds=1), "unknown_tool"),
        "absurd name": (call("x" * 100_000), "unknown_tool"),
        "odd name": (call("\0\ud800"), "unknown_tool"),
        "wrong type": (call("test_sleep", seconds="soon"), "invalid_arguments"),
        "missing field": (call("test_sleep"), "invalid_arguments"),
        "unknown field": (call("test_sleep", seconds=0, user_id=7), "invalid_arguments"),
        "out of range": (call("test_sleep", seconds=-1), "invalid_arguments"),
        "not JSON": (raw('{"seconds": '), "invalid_arguments"),
        "not an object": (raw("[1, 2]"), "invalid_arguments"),
        "not a number": (raw('{"seconds": NaN}'), "invalid_arguments"),
        "endless number": (raw('{"seconds": ' + "9" * 10_000 + "}"), "invalid_arguments"),
        "a megabyte": (call("test_sleep", seconds=0, deaf="x" * 1_000_000), "invalid_arguments"),
        "10,000 deep": (raw('{"seconds": ' + "[" * 10_000 + "]" * 10_000 + "}"), "invalid_arguments"),
        "10,000 deep, unclosed": (raw('{"a":' * 10_000), "invalid_arguments"),
    }


@pytest.mark.parametrize("case", bad_calls())
def test_a_call_that_makes_no_sense_is_answered_and_not_run(bench: Bench, case: str) -> None:
    request, code = bad_calls()[case]
    [finished] = bench.run(request)
    assert (finished.state, finished.output["type"], finished.output["error"]) == (
        State.FAILED,
        "error",
        code,
    )
    assert finished.output["session_id"] == str(bench.session_id)
    row = bench.row("c1")
    assert (row.state, row.result) == (State.FAILED, finished.output)
    assert len(str(row.arguments)) < 20_000


def test_an_unknown_tool_is_answered_with_the_names_that_are_close(bench: Bench) -> None:
    assert "test_sleep" in bench.run_one("test_slepp").output["message"]


def test_brackets_inside_texts_are_not_depth(bench: Bench) -> None:
    assert bench.run_one("test_pure", value='[{"' * 5000).state == State.SUCCEEDED


def test_empty_arguments_are_an_empty_object(bench: Bench) -> None:
    [finished] = bench.run(ToolCallRequest(id="c1", name="test_pure", arguments=""))
    assert (finished.state, finished.arguments) == (State.SUCCEEDED, {})


def test_nul_and_lone_surrogates_do_not_reach_the_database(bench: Bench) -> None:
    [finished] = bench.run(
        ToolCallRequest(id="c1", name="test_pure", arguments='{"value": "a\\u0000b\\ud800"}')
    )
    assert finished.output["value"] == "a\ufffdb\ufffd"
    assert bench.row("c1").arguments == {"value": "a\ufffdb\ufffd"}


def test_a_result_that_no_database_takes_is_repaired(bench: Bench) -> None:
    tower: Any = []
    for _ in range(10_000):
        tower = [tower]

    @tool()
    def hostile(args: NoArgs, context: ToolContext) -> Value:
        """Answer with what no database takes."""
        return Value(message="a\0b", value={"\0": "\ud800", "tower": tower})

    with registry.override(hostile):
        finished = bench.run_one("hostile")
    assert finished.state == State.SUCCEEDED
    assert finished.output["message"] == "a\ufffdb" and finished.output["value"]["\ufffd"] == "\ufffd"
    storable.check(finished.output)
    assert bench.row("c1").result == finished.output


def test_an_error_text_that_no_database_takes_is_repaired(bench: Bench) -> None:
    @tool()
    def hostile(args: NoArgs, context: ToolContext) -> Value:
        """Fail with what no database takes."""
        raise ToolError("a\0b\ud800", hint="\0")

    with registry.override(hostile):
        finished = bench.run_one("hostile")
    assert finished.state == State.FAILED
    assert finished.output["message"] == "a\ufffdb\ufffd"
    storable.check(finished.output)
    assert bench.row("c1").result == finished.output


def test_calls_that_share_an_id_are_all_refused(bench: Bench) -> None:
    finished = bench.run(call("test_effect", id="x"), call("test_effect", id="x"), call("test_pure", id="y"))
    assert [item.state for item in finished] == [State.FAILED, State.FAILED, State.SUCCEEDED]
    assert not TestEffect.objects.exists()


@pytest.mark.parametrize("call_id", ["", "x" * 50_000, "a\0b", "\ud800", "é🙂", "call:1:2"])
def test_any_call_id_is_answered_under_that_id(bench: Bench, call_id: str) -> None:
    [finished] = bench.run(call("test_effect", id=call_id))
    assert (finished.call_id, finished.state) == (call_id, State.SUCCEEDED)
    [again] = bench.run(call("test_effect", id=call_id))
    assert (again.call_id, again.output) == (call_id, finished.output)
    assert TestEffect.objects.count() == 1


def test_more_calls_than_fit_in_a_step_are_refused_and_the_rest_run(bench: Bench) -> None:
    count = limits.MAX_CALLS_PER_STEP + 3
    finished = bench.run(*(call("test_pure", id=str(number)) for number in range(count)))
    assert [item.state for item in finished] == [State.SUCCEEDED] * (count - 3) + [State.FAILED] * 3


def test_a_tool_outside_the_permissions_is_not_run(bench: Bench) -> None:
    bench.permissions = Permissions.parse({"tools": {"deny": ["test_effect"]}})
    finished = bench.run_one("test_effect")
    assert (finished.state, finished.output["error"]) == (State.FAILED, "not_permitted")
    assert not TestEffect.objects.exists()


# --- time, cancel ----------------------------------------------------------------------------------


def test_a_tool_over_its_time_cap_is_stopped_and_says_so(bench: Bench) -> None:
    @tool(cap_seconds=0.2)
    def slow(args: NoArgs, context: ToolContext) -> Done:
        """Take long."""
        context.cancelled.wait(60)
        context.stop_if_cancelled()
        return Done()

    with registry.override(slow):
        finished = bench.run_one("slow")
    assert (finished.state, finished.output["error"]) == (State.FAILED, "timed_out")
    assert "may_have_happened" not in finished.output


def test_a_tool_that_ignores_its_time_cap_is_left_behind_and_its_late_result_dropped(bench: Bench) -> None:
    release, left = threading.Event(), threading.Event()

    @tool(effect=Effect.FOREIGN, cap_seconds=0.1)
    def deaf(args: NoArgs, context: ToolContext) -> Done:
        """Hear nothing."""
        release.wait(60)
        context.progress(1.0, "too late")
        left.set()
        return Done(message="late")

    with registry.override(deaf):
        finished = bench.run_one("deaf")
    assert (finished.output["error"], finished.output["may_have_happened"]) == ("timed_out", True)
    release.set()
    assert left.wait(20)
    assert bench.row("c1").result == finished.output
    assert bench.journal.finished == [finished] and bench.journal.shown == []


def test_cancelling_the_turn_stops_every_running_tool(bench: Bench) -> None:
    threading.Timer(0.2, bench.stop.set).start()
    finished = bench.run(
        call("test_sleep", id="a", seconds=60),
        call("test_sleep", id="deaf", seconds=3, deaf=True),
        call("test_pure", id="quick", value="kept"),
        call("test_foreign_effect", id="foreign", seconds=60),
    )
    assert [item.state for item in finished] == [
        State.CANCELLED,
        State.CANCELLED,
        State.SUCCEEDED,
        State.CANCELLED,
    ]
    assert [item.output.get("may_have_happened") for item in finished] == [None, None, None, True]
    assert finished[2].output["value"] == "kept"


def test_after_a_cancel_nothing_starts_and_every_call_has_an_answer(bench: Bench) -> None:
    bench.stop.set()
    finished = bench.run(call("test_effect", id="a"), call("test_pure", id="b"))
    assert [item.state for item in finished] == [State.CANCELLED, State.CANCELLED]
    assert not TestEffect.objects.exists()


def test_one_call_is_cancelled_while_the_others_go_on(
    bench: Bench, in_background: Callable[[Callable[[], Any]], threading.Thread]
) -> None:
    def cancel_when_started() -> None:
        eventually(lambda: ToolCall.objects.filter(key=bench.key("stop"), state=State.STARTED).exists())
        assert cancel_call(bench.key("stop"))
        cancel_call(bench.key("stop"))

    in_background(cancel_when_started)
    finished = bench.run(call("test_sleep", id="stop", seconds=60), call("test_sleep", id="go", seconds=0.5))
    assert [item.state for item in finished] == [State.CANCELLED, State.SUCCEEDED]
    assert "stopped by the user" in finished[0].output["message"]
    assert not cancel_call(bench.key("stop"))


def test_a_cancel_from_another_process_is_noticed_by_the_row(
    bench: Bench, in_background: Callable[[Callable[[], Any]], threading.Thread]
) -> None:
    def flag_the_row() -> None:
        from django.utils import timezone

        eventually(
            lambda: ToolCall.objects.filter(key=bench.key("c1"), state=State.STARTED).update(
                cancel_requested_at=timezone.now()
            )
        )

    in_background(flag_the_row)
    assert bench.run_one("test_sleep", seconds=60).state == State.CANCELLED


def test_cancelling_an_unknown_call_says_no(transactional_db: None) -> None:
    assert not cancel_call("nothing")


@pytest.mark.parametrize(
    ("reason", "error"), [(StopReason.LOST, LeaseLost), (StopReason.HAND_OVER, HandOver)]
)
def test_a_turn_that_goes_to_another_worker_leaves_its_calls_in_doubt(
    bench: Bench, reason: StopReason, error: type[Exception]
) -> None:
    told = threading.Event()

    @tool()
    def wait(args: NoArgs, context: ToolContext) -> Done:
        """Wait for the signal."""
        if context.cancelled.wait(60):
            told.set()
        return Done()

    threading.Timer(0.2, bench.stop.set, [reason]).start()
    with registry.override(wait), pytest.raises(error):
        bench.run_one("wait")
    assert told.wait(20)
    assert bench.row("c1").state == State.STARTED
    assert bench.journal.finished == []


def test_a_lost_lease_stops_the_tools_and_writes_nothing(bench: Bench) -> None:
    told = threading.Event()

    @tool()
    def lose(args: NoArgs, context: ToolContext) -> Done:
        """The lease goes while this one runs."""
        bench.journal.lost = True
        return Done()

    @tool()
    def wait(args: NoArgs, context: ToolContext) -> Done:
        """Wait for the signal."""
        if context.cancelled.wait(60):
            told.set()
        return Done()

    with registry.override(lose, wait), pytest.raises(LeaseLost):
        bench.run(call("lose", id="a"), call("wait", id="b"))
    assert told.wait(20)
    assert {row.state for row in calls_of(bench.turn_id)} == {State.STARTED}


def test_nothing_runs_when_the_intent_cannot_be_written(bench: Bench) -> None:
    bench.journal.lost = True
    with pytest.raises(LeaseLost):
        bench.run_one("test_effect")
    assert not TestEffect.objects.exists() and not ToolCall.objects.exists()


# --- progress, work that belongs to the result -----------------------------------------------------


def test_progress_is_shown_while_a_tool_runs(bench: Bench) -> None:
    bench.run_one("test_sleep", seconds=0.5)
    assert bench.journal.shown
    call_id, name, output = bench.journal.shown[0]
    assert (call_id, name) == ("c1", "test_sleep")
    assert output["type"] == "progress" and 0 <= output["progress"] <= 1
    assert output["session_id"] == str(bench.session_id)


def test_a_chatty_tool_does_not_flood_the_stream(bench: Bench) -> None:
    @tool()
    def chatty(args: NoArgs, context: ToolContext) -> Done:
        """Say ten thousand things."""
        for number in range(10_000):
            context.progress(number / 10_000, "going on")
        return Done()

    start = time.monotonic()
    with registry.override(chatty):
        bench.run_one("chatty")
    most = 1 + (time.monotonic() - start) / limits.TOOL_PROGRESS_GAP_SECONDS
    assert 1 <= len(bench.journal.shown) <= most


def test_work_given_to_the_result_happens_with_it(bench: Bench) -> None:
    @tool()
    def together(args: NoArgs, context: ToolContext) -> Done:
        """Save a row with the result."""
        context.with_result(lambda: TestEffect.objects.create(key=context.key))
        assert not TestEffect.objects.exists()
        return Done()

    with registry.override(together):
        assert bench.run_one("together").state == State.SUCCEEDED
    assert TestEffect.objects.get().key == bench.key("c1")


def test_work_that_fails_takes_the_result_with_it(bench: Bench) -> None:
    TestEffect.objects.create(key="taken")

    @tool()
    def together(args: NoArgs, context: ToolContext) -> Done:
        """Save two rows with the result; the second is impossible."""
        context.with_result(lambda: TestEffect.objects.create(key="new"))
        context.with_result(lambda: TestEffect.objects.create(key="taken"))
        return Done()

    with registry.override(together):
        finished = bench.run_one("together")
    assert (finished.state, finished.output["error"]) == (State.FAILED, "internal")
    assert [effect.key for effect in TestEffect.objects.all()] == ["taken"]
    assert bench.journal.finished == [finished]


def test_work_given_by_a_call_that_failed_is_not_done(bench: Bench) -> None:
    @tool()
    def together(args: NoArgs, context: ToolContext) -> Done:
        """Give work, then fail."""
        context.with_result(lambda: TestEffect.objects.create(key="new"))
        raise RuntimeError

    with registry.override(together):
        bench.run_one("together")
    assert not TestEffect.objects.exists()
