"""How long a turn pauses when its worker is killed, and when it is asked to stop."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from benchmarks.conversations import new_session, person, script
from benchmarks.side_by_side import Report, Series, Size, at_most
from chat import turns
from chat.models import Attempt, Turn
from durable.models import WorkerBeat
from tests.harness import START_SECONDS, Stack, eventually

TITLE = "from the signal to the next attempt"
LEASE_SECONDS = 15.0
SLACK_SECONDS = 2.0
HAND_OVER_SECONDS = 1.0
LONG = [{"chunks": 2_000, "delay": 0.05}]
SHORT_STEP = {"chunks": 4, "delay": 0.02, "tool_calls": [{"name": "test_pure", "arguments": {}}]}


def run(stack: Stack, size: Size, report: Report) -> None:
    stack.lease_seconds = size.pick(2.0, 3.0, LEASE_SECONDS)
    stack.start_model()
    kills = [killed(stack) for _ in range(size.pick(1, 2, 6))]
    report.add(
        f"kill -9, lease {stack.lease_seconds:g} s",
        "s",
        Series.of(kills),
        goal=at_most(stack.lease_seconds + SLACK_SECONDS),
    )
    leaves = [left(stack) for _ in range(size.pick(1, 2, 6))]
    report.add("SIGTERM to the next attempt", "s", Series.of([whole for whole, _ in leaves]))
    report.add(
        "SIGTERM: between the last step here and the next attempt there", "s",
        Series.of([gap for _, gap in leaves]), goal=at_most(HAND_OVER_SECONDS),
    )  # fmt: skip


def killed(stack: Stack) -> float:
    turn, owner, other = running_turn(stack, LONG)
    at = time.time()
    stack.kill(owner)
    spent = next_attempt(turn) - at
    turns.stop(turn)
    stack.kill(other)
    return spent


def left(stack: Stack) -> tuple[float, float]:
    """A turn of short steps; it is handed over between two of them."""
    turn, owner, other = running_turn(stack, [SHORT_STEP] * 40)
    at = time.time()
    os.kill(stack.processes[owner].pid, signal.SIGTERM)
    taken = next_attempt(turn)
    last = turn.steps.filter(attempt=1).order_by("-number").first()
    since = max(at, last.created_at.timestamp() if last else at)
    turns.stop(turn)
    for name in (owner, other):
        stack.kill(name)
    return taken - at, taken - since


def running_turn(stack: Stack, steps: list[dict[str, Any]]) -> tuple[Turn, str, str]:
    """Return a turn, the worker that runs it, and another worker."""
    Turn.objects.exclude(status__in=Turn.TERMINAL).update(status=Turn.CANCELLED)
    for number in range(2):
        stack.start_worker(number)
    names = {f"worker{number}": f":{stack.processes[f'worker{number}'].pid}:" for number in range(2)}
    for pid in names.values():
        wait_until_warm(pid)
    turn = turns.submit(new_session(person()), turns.Input(text=script(*steps))).turn

    def streaming() -> bool:
        turn.refresh_from_db()
        return turn.status == Turn.RUNNING

    eventually(streaming, what="the running turn")
    time.sleep(0.7)  # into the answer, past its opening
    owner = next(name for name, pid in names.items() if pid in turn.owner)
    return turn, owner, next(name for name in names if name != owner)


def wait_until_warm(pid: str) -> None:
    seen = WorkerBeat.objects.filter(name__contains=pid)
    eventually(seen.exists, seconds=START_SECONDS, what="a worker")
    eventually(lambda: has_answered(pid), seconds=START_SECONDS, what="a worker's first turn")


def has_answered(pid: str) -> bool:
    """Return whether a worker has already run a turn; the first one loads the model library."""
    turn = turns.submit(new_session(person()), turns.Input(text=script({"text": "warm"}))).turn
    eventually(
        lambda: Turn.objects.filter(pk=turn.pk, status__in=Turn.TERMINAL).exists(), what="a short turn"
    )
    return Attempt.objects.filter(owner__contains=pid).exists()


def next_attempt(turn: Turn) -> float:
    """Return when the second attempt started, by the clock of this machine."""
    found = eventually(
        lambda: Attempt.objects.filter(turn=turn, number=2).first(), seconds=60, what="the takeover"
    )
    assert found is not None
    return float(found.started_at.timestamp())
