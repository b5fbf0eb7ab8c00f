"""The worker of `up`: what runs beside it, and how the process as a whole shows that it works."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import signals
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from copilot_project import limits, worker
from durable import limits as durable_limits
from durable import liveness
from tests.copilot_project.launcher.processes import until
from tools.operations import completion_stream


@pytest.fixture
def parts() -> Iterator[liveness.ProcessParts]:
    """Those of this process, which is a worker's for as long as the test takes."""
    parts = liveness.parts()
    parts.are_joined = True
    yield parts
    parts.are_joined = False
    parts.signalled_at.clear()


def test_each_queue_has_the_threads_it_was_given() -> None:
    options = worker.parse(["background", "--queue=operations=2", "--queue=executions=3", "--part=beat"])
    assert (dict(options.queue), options.part) == ({"operations": 2, "executions": 3}, ["beat"])
    with pytest.raises(SystemExit):
        worker.parse(["background", "--queue=operations=2", "--part=nothing"])


def test_a_part_that_fails_starts_again_until_the_worker_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PART_RESTART_SECONDS", 0.0)
    stop, runs = threading.Event(), []

    def fail(stop: threading.Event) -> None:
        runs.append(1)
        if len(runs) == 3:
            stop.set()
        raise ZeroDivisionError

    worker.keep_running("failing", fail, stop)
    assert len(runs) == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_server")
def test_beat_beside_a_worker_sends_what_is_due_and_says_that_it_lives(
    parts: liveness.ProcessParts, settings: Any
) -> None:
    settings.CELERY_BEAT_SCHEDULE = {}
    every_second = IntervalSchedule.objects.create(every=1, period=IntervalSchedule.SECONDS)
    due = PeriodicTask.objects.create(name="due", task="durable.canary", interval=every_second)
    sent: list[str] = []

    def note(sender: str, **kwargs: Any) -> None:
        sent.append(sender)

    signals.after_task_publish.connect(note)
    stop = threading.Event()
    thread = threading.Thread(target=worker.keep_running, args=("beat", worker.run_beat, stop), daemon=True)
    thread.start()
    until(lambda: "durable.canary" in sent, "a task that was due")
    assert "beat" in parts.signalled_at and liveness.living("beat")
    stop.set()
    thread.join(30)
    assert not thread.is_alive()
    due.refresh_from_db()
    assert due.total_run_count >= 1, "what was sent is written down when it stops"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_server")
def test_the_consumer_beside_a_worker_reads_until_it_is_stopped(parts: liveness.ProcessParts) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=worker.consume_completions, args=(stop,), daemon=True)
    thread.start()
    until(lambda: completion_stream.GROUP in parts.signalled_at, "a sign of the consumer")
    stop.set()
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.usefixtures("redis_server")
def test_one_part_cannot_hide_that_another_is_stuck(
    parts: liveness.ProcessParts, settings: Any, tmp_path: Path
) -> None:
    settings.COPILOT_ALIVE_FILE = str(tmp_path / "alive")
    liveness.LivenessSignal("beat").give()
    assert not (tmp_path / "alive").exists(), "the worker signals for all of them"
    assert parts.work()
    parts.signalled_at["completions"] = parts.signalled_at["beat"] - durable_limits.STUCK_PART_SECONDS - 1
    assert not parts.work()
