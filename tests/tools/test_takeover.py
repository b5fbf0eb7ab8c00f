"""The same step again after a crash: what finished stands, what is in doubt follows its kind of effect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from durable.stop_signal import StopReason
from llm.types import ToolCallRequest
from tests.testtools.copilot_tools import FOREIGN_FILE
from tests.testtools.models import TestEffect
from tests.tools.conftest import Bench, call
from tools.base import Effect
from tools.models import ToolCall, calls_of

State = ToolCall.State


def test_a_finished_call_is_not_run_again_and_is_shown_again(bench: Bench) -> None:
    first = bench.run_one("test_effect", note="once")
    bench.attempt = 2
    again = bench.run_one("test_effect", note="once")
    assert again == first
    assert bench.journal.finished == [first, first]
    assert TestEffect.objects.count() == 1
    assert bench.row("c1").attempt == 1


@pytest.mark.parametrize("how", ["final", "crash"])
def test_a_failed_call_is_not_run_again_either(bench: Bench, how: str) -> None:
    first = bench.run_one("test_fail", how=how)
    assert bench.run_one("test_fail", how=how) == first


def test_the_same_call_id_in_another_step_is_another_call(bench: Bench) -> None:
    bench.run_one("test_effect")
    bench.step = 1
    bench.run_one("test_effect")
    assert TestEffect.objects.count() == 2


def test_a_pure_call_in_doubt_is_run_again(bench: Bench) -> None:
    request = call("test_pure", value="v")
    bench.leave_in_doubt(request, Effect.PURE)
    bench.attempt = 2
    [finished] = bench.run(request)
    assert (finished.state, finished.output["value"]) == (State.SUCCEEDED, "v")
    assert bench.row("c1").attempt == 2


def test_an_idempotent_call_in_doubt_is_run_again_with_the_same_key(bench: Bench) -> None:
    request = call("test_idempotent", note="n")
    bench.leave_in_doubt(request, Effect.IDEMPOTENT)
    TestEffect.objects.create(key=bench.key("c1"), note="n")
    [finished] = bench.run(request)
    assert finished.state == State.SUCCEEDED
    assert (TestEffect.objects.get().key, TestEffect.objects.get().times) == (bench.key("c1"), 2)


def test_an_effectful_call_in_doubt_is_looked_up_and_found(bench: Bench) -> None:
    request = call("test_effect", note="n")
    bench.leave_in_doubt(request, Effect.EFFECTFUL)
    TestEffect.objects.create(key=bench.key("c1"), note="written before the crash")
    [finished] = bench.run(request)
    assert (finished.state, finished.output["message"]) == (State.SUCCEEDED, "Found.")
    assert TestEffect.objects.get().times == 1


def test_an_effectful_call_in_doubt_that_did_not_happen_is_run(bench: Bench) -> None:
    request = call("test_effect", note="n")
    bench.leave_in_doubt(request, Effect.EFFECTFUL)
    [finished] = bench.run(request)
    assert (finished.state, finished.output["value"]) == (State.SUCCEEDED, "n")
    assert TestEffect.objects.count() == 1


def test_a_foreign_call_in_doubt_is_never_run_again(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOREIGN_FILE, str(tmp_path / "effects"))
    request = call("test_foreign_effect", note="n")
    bench.leave_in_doubt(request, Effect.FOREIGN)
    [finished] = bench.run(request)
    assert (finished.state, finished.output["error"]) == (State.INTERRUPTED, "interrupted")
    assert finished.output["may_have_happened"] is True
    assert not (tmp_path / "effects").exists()
    assert bench.row("c1").state == State.INTERRUPTED
    assert bench.run(request) == [finished]


def test_a_call_written_down_but_not_started_is_run(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOREIGN_FILE, str(tmp_path / "effects"))
    request = call("test_foreign_effect", note="n")
    row = bench.leave_in_doubt(request, Effect.FOREIGN)
    ToolCall.objects.filter(pk=row.pk).update(state=State.PENDING)
    [finished] = bench.run(request)
    assert finished.state == State.SUCCEEDED
    assert (tmp_path / "effects").read_text() == f"{bench.key('c1')}\tn\n"


@pytest.mark.parametrize(
    ("name", "effect", "may_have_happened"),
    [
        ("test_pure", Effect.PURE, None),
        ("test_effect", Effect.EFFECTFUL, True),
        ("test_foreign_effect", Effect.FOREIGN, True),
    ],
)
@pytest.mark.parametrize("by", ["the call", "the turn"])
def test_a_call_in_doubt_that_was_cancelled_is_not_repeated(
    bench: Bench, name: str, effect: Effect, may_have_happened: bool | None, by: str
) -> None:
    request = call(name)
    bench.leave_in_doubt(request, effect, cancel_requested_at=timezone.now() if by == "the call" else None)
    if by == "the turn":
        bench.stop.set(StopReason.CANCELLED)
    [finished] = bench.run(request)
    assert (finished.state, finished.output.get("may_have_happened")) == (State.CANCELLED, may_have_happened)
    assert not TestEffect.objects.exists()


KILLED_AT = """
import django; django.setup()
import sys, uuid
from tests.tools.conftest import Bench
from tests.tools.test_takeover import one_of_each
from accounts.models import User
turn, session = map(uuid.UUID, sys.argv[2:4])
bench = Bench(user=User.objects.get(pk=int(sys.argv[1])), turn_id=turn, session_id=session)
bench.run(*one_of_each())
"""
KINDS = ["test_idempotent", "test_effect", "test_foreign_effect"]


def one_of_each() -> list[ToolCallRequest]:
    return [call(name, id=name, note="n") for name in KINDS]


@pytest.mark.parametrize("place", ["after_intent", "after_effect", "after_result"])
def test_a_worker_killed_in_the_middle_of_a_step_leaves_each_effect_once_or_says_it_does_not_know(
    bench: Bench, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real process dies by SIGKILL in the middle of three calls; this one takes the step over."""
    monkeypatch.setenv(FOREIGN_FILE, str(tmp_path / "effects"))
    assert bench.user is not None
    arguments = [str(bench.user.pk), str(bench.turn_id), str(bench.session_id)]
    environment = {"DATABASE_URL": database_url(), "COPILOT_CRASH_AT": f"{place}:{tmp_path}/crashed"}
    dead = subprocess.run(
        [sys.executable, "-c", KILLED_AT, *arguments],
        env=os.environ | environment,
        timeout=500,
        capture_output=True,
    )
    assert dead.returncode == -9, dead.stderr.decode()
    rows = {row.name: row.state for row in calls_of(bench.turn_id)}
    assert set(rows) == set(KINDS) and State.STARTED in rows.values()
    bench.attempt = 2
    finished = {item.name: item for item in bench.run(*one_of_each())}
    assert finished["test_idempotent"].state == finished["test_effect"].state == State.SUCCEEDED
    assert sorted(effect.key for effect in TestEffect.objects.all()) == sorted(
        bench.key(name) for name in KINDS[:2]
    )
    foreign = finished["test_foreign_effect"]
    if rows["test_foreign_effect"] == State.STARTED:
        assert foreign.output["error"] == "interrupted" and lines(tmp_path / "effects") <= 1
    else:
        assert foreign.state == State.SUCCEEDED and lines(tmp_path / "effects") == 1
    if place == "after_intent":
        assert set(rows.values()) == {State.STARTED} and lines(tmp_path / "effects") == 0


def database_url() -> str:
    """The database of this test run, for another process."""
    name = str(connection.settings_dict["NAME"])
    given = os.environ["DATABASE_URL"]
    return f"{given.rpartition('/')[0]}/{name}" if given else f"sqlite://{name}"


def lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0
