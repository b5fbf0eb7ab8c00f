"""The two tools for sub-sessions over a double of what chat fills in: waits, words, wishes and stops."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from durable.errors import HandOver, LeaseLost
from durable.stop_signal import StopReason, StopSignal
from tests.tools.conftest import Bench, eventually
from tools import limits, sub_sessions
from tools.catalog.sub_sessions import RunSubSessionArgs, status_of
from tools.context import ToolContext
from tools.models import ToolCall
from tools.sub_sessions import SubSessionTask, TaskHandle, TaskReport, Tell, UnknownSubSession

HANDLE = TaskHandle(session_id=uuid.uuid4(), turn_id=uuid.uuid4())
CALL = {"tool_name": "web_fetch", "success": True, "output": {"message": "x" * 1_000}, "input": {}}


@dataclass
class Playing:
    """A sub-session that ends as soon as somebody waits for it, unless it is told to go on."""

    report_: TaskReport = field(
        default_factory=lambda: TaskReport(handle=HANDLE, status="running", doing="thinks")
    )
    goes_on: bool = False
    waits: list[float] = field(default_factory=list)
    cancelled: list[bool] = field(default_factory=list)
    wishes: list[TaskHandle] = field(default_factory=list)
    tasks: list[SubSessionTask] = field(default_factory=list)

    def start(self, task: SubSessionTask, context: ToolContext) -> TaskHandle:
        self.tasks.append(task)
        return HANDLE

    def find(self, sub_session_id: str, context: ToolContext) -> TaskHandle:
        if sub_session_id != str(HANDLE.session_id):
            raise UnknownSubSession
        return HANDLE

    def is_over(self, handle: TaskHandle) -> bool:
        return self.report_.status != "running"

    def wait(self, handle: TaskHandle, *, seconds: float, stop: StopSignal, tell: Tell) -> None:
        self.waits.append(seconds)
        tell("uses web_fetch")
        if self.goes_on:
            stop.wait(seconds)
        else:
            self.report_ = replace(self.report_, status="completed", text="Done.", tool_calls=(CALL,))

    def report(self, handle: TaskHandle) -> TaskReport:
        return self.report_

    def cancel(self, handle: TaskHandle, *, confirm: bool) -> None:
        self.cancelled.append(confirm)
        self.report_ = replace(self.report_, status="cancelled")

    def tell_when_over(self, handle: TaskHandle, context: ToolContext) -> None:
        self.wishes.append(handle)


@pytest.fixture
def playing() -> Iterator[Playing]:
    before, double = sub_sessions.current(), Playing()
    sub_sessions.install(double)
    yield double
    sub_sessions.install(before)


@pytest.fixture
def quiet(transactional_db: None, playing: Playing) -> Bench:
    return Bench(user=None)


def run(bench: Bench, name: str = "run_sub_session", **arguments: Any) -> dict[str, Any]:
    given = {"prompt": "Do it."} if name == "run_sub_session" else {"sub_session_id": str(HANDLE.session_id)}
    return bench.run_one(name, **given | arguments).output


def test_the_answer_has_what_the_sub_session_said_did_and_where_it_is(quiet: Bench, playing: Playing) -> None:
    output = run(quiet, system_context="Be brief.", sub_session_id="s1")
    assert (output["type"], output["status"], output["response"]) == (
        "sub_session_status",
        "completed",
        "Done.",
    )
    assert output["link"] == f"/c/{HANDLE.session_id}" and output["session_id"] == str(quiet.session_id)
    (used,) = output["tool_calls"]
    assert (used["tool_name"], used["success"]) == ("web_fetch", True)
    assert len(used["message"]) == limits.MAX_BRIEF_CHARACTERS
    assert playing.tasks == [SubSessionTask(prompt="Do it.", system_context="Be brief.", sub_session_id="s1")]
    assert playing.waits == [60.0] and quiet.journal.waits == [HANDLE.turn_id]


def test_what_it_does_is_shown_while_the_call_waits(quiet: Bench) -> None:
    run(quiet)
    ((_, name, shown),) = quiet.journal.shown
    assert (name, shown["type"], shown["status"]) == ("run_sub_session", "sub_session_status", "running")
    assert shown["message"] == "The sub-session uses web_fetch." and shown["link"] == HANDLE.link


@pytest.mark.parametrize(("asked", "waited"), [(0, []), (-5, []), (7, [7.0]), (1e9, [300.0])])
def test_waits_are_held_between_nothing_and_five_minutes(
    quiet: Bench, playing: Playing, asked: float, waited: list[float]
) -> None:
    run(quiet, wait_for_result=asked)
    assert playing.waits == waited
    assert len(quiet.journal.waits) == len(waited), "without a wait the turn keeps its place"


def test_a_wait_that_is_no_number_is_none() -> None:
    assert RunSubSessionArgs(prompt="x", wait_for_result=float("nan")).wait_for_result == 0


def test_what_is_over_is_not_waited_for(quiet: Bench, playing: Playing) -> None:
    playing.report_ = replace(playing.report_, status="failed", error="No paper.")
    output = run(quiet, "get_sub_session_result")
    assert (output["status"], output["error"]) == ("failed", "No paper.")
    assert playing.waits == [] and quiet.journal.waits == []


def test_a_wish_to_be_told_is_saved_with_the_answer_that_it_runs_and_only_then(
    quiet: Bench, playing: Playing
) -> None:
    assert run(quiet, wait_for_result=0, notify=True)["notify"] is True
    assert playing.wishes == [HANDLE]
    quiet.step = 1
    output = run(quiet, notify=True)
    assert (output["status"], output["notify"]) == ("completed", False)
    assert playing.wishes == [HANDLE], "it is answered already"


def test_progress_is_shown_only_when_asked_for(quiet: Bench, playing: Playing) -> None:
    playing.report_ = replace(playing.report_, text="So far.", tool_calls=(CALL,))
    assert run(quiet, "get_sub_session_result", wait_if_running=0)["response"] == ""
    quiet.step = 1
    shown = run(quiet, "get_sub_session_result", wait_if_running=0, include_progress=True)
    assert (shown["response"], shown["doing"], len(shown["tool_calls"])) == ("So far.", "thinks", 1)


def test_the_model_stops_a_sub_session_and_hears_that_it_has_stopped(quiet: Bench, playing: Playing) -> None:
    assert run(quiet, "get_sub_session_result", cancel=True)["status"] == "cancelled"
    assert playing.cancelled == [True] and playing.waits == []


def test_an_unknown_sub_session_is_an_error_that_says_what_to_use(quiet: Bench) -> None:
    output = run(quiet, "get_sub_session_result", sub_session_id="another")
    assert output["error"] == "unknown_sub_session" and "run_sub_session returned" in output["next_step"]


@pytest.mark.parametrize(
    ("reason", "stopped"),
    [
        (StopReason.CANCELLED, [False]),
        (StopReason.TIMED_OUT, [False]),
        (StopReason.LOST, []),
        (StopReason.HAND_OVER, []),
    ],
)
def test_a_stopped_wait_stops_the_child_unless_another_worker_goes_on_with_it(
    quiet: Bench, playing: Playing, reason: StopReason, stopped: list[bool]
) -> None:
    playing.goes_on = True

    def stop_when_it_waits() -> None:
        eventually(lambda: bool(playing.waits))
        quiet.stop.set(reason)

    threading.Thread(target=stop_when_it_waits, daemon=True).start()
    if stopped:
        run(quiet, wait_for_result=300)
        assert ToolCall.objects.get().state == ToolCall.State.CANCELLED
    else:
        with pytest.raises((LeaseLost, HandOver)):
            run(quiet, wait_for_result=300)
    eventually(lambda: playing.cancelled == stopped)


def test_without_a_chat_there_are_none(quiet: Bench, playing: Playing) -> None:
    sub_sessions._Installed.sub_sessions = None
    assert run(quiet)["error"] == "not_available"


@pytest.mark.parametrize(
    ("status", "notify", "words", "advice"),
    [
        ("completed", False, "has finished", "`response`"),
        ("failed", False, "No paper.", ""),
        ("cancelled", False, "was cancelled", "`response`"),
        ("running", False, "still running", "get_sub_session_result"),
        ("running", True, "still running", "You are called again"),
    ],
)
def test_people_read_the_status_and_the_model_what_to_do_next(
    status: Any, notify: bool, words: str, advice: str
) -> None:
    result = status_of(TaskReport(handle=HANDLE, status=status, error="No paper."), notify=notify)
    assert result.status == status
    assert words in result.message
    assert advice in result.next_step and bool(advice) == bool(result.next_step)
    assert "`" not in result.message and "get_sub_session" not in result.message
