"""Deadlines of runs: a run past its deadline is asked to stop, then abandoned."""

from __future__ import annotations

import time
from collections.abc import Iterable

from blocks.errors import BlockTimedOut
from durable.clock import current_time
from durable.stop_signal import StopReason
from executions import limits
from executions.engine.node_run import NodeRun, RunOutcome


def give_up(at_work: Iterable[NodeRun]) -> list[NodeRun]:
    """Return the runs that did not stop when asked to; they count as failed."""
    now = time.monotonic()
    given_up = []
    for run in at_work:
        if run.give_up_at is None and run.deadline is not None and now >= run.deadline:
            run.stop.set(StopReason.TIMED_OUT)
            run.give_up_at = now + limits.NODE_STOP_SECONDS
        elif run.give_up_at is not None and now >= run.give_up_at and run.outcome is None:
            run.closed, run.outcome, run.error = True, RunOutcome.FAILED, str(BlockTimedOut())
            run.ended_at, run.seconds = current_time(), now - run.began
            given_up.append(run)
    return given_up


def seconds_left(at_work: Iterable[NodeRun], at_most: float) -> float:
    """Return the seconds until the first deadline, at most `at_most`."""
    now = time.monotonic()
    moments = [moment for run in at_work if (moment := run.give_up_at or run.deadline) is not None]
    return max(min([now + at_most, *moments]) - now, 0.0)
