"""Turns answered per second by two worker processes, compared with one, on the same queue."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack

from benchmarks.conversations import new_session, person, queued_turn
from benchmarks.peers import DENSE, model
from benchmarks.side_by_side import Goal, Report, Size, alternate
from chat import turns
from chat.models import Turn
from tests.harness import Stack, eventually

TITLE = "answers of 200 words without gaps, all queued at once; two workers need two cores for themselves"
GOAL = Goal(limit=1.8, of_ratio=True, at_least=True)
THREADS = 32


def run(stack: Stack, size: Size, report: Report) -> None:
    count = size.pick(4, 60, 200)
    with ExitStack() as stopping:
        url = stopping.enter_context(model(stack.home))
        endpoint = [{"name": "bench", "url": url, "key": "none", "models": [DENSE]}]
        stack.env = {
            **stack.env,
            "COPILOT_ENDPOINTS": json.dumps(endpoint),
            "COPILOT_MODEL": f"bench/{DENSE}",
        }

        def answered_by(workers: int) -> float:
            with ExitStack() as ending:
                for number in range(workers):
                    ending.enter_context(stack.worker(number, threads=THREADS, queues="turns"))
                turns_per_second(workers)  # imports, caches, connections
                return turns_per_second(count)

        found = alternate({"one": lambda: answered_by(1), "two": lambda: answered_by(2)}, size.repetitions)
    report.add("turns per second, two workers against one", "/s", found["two"], found["one"], GOAL)
    report.remark(f"{count} turns; the model, Redis and the database use the same cores")


def turns_per_second(count: int) -> float:
    """Queue so many turns and wait until the last has ended."""
    user = person("crowd")
    queued = [queued_turn(new_session(user)) for _ in range(count)]
    started = time.perf_counter()
    for turn in queued:
        turns.start(turn)
    ids = [turn.pk for turn in queued]

    def all_done() -> bool:
        return Turn.objects.filter(pk__in=ids, status=Turn.COMPLETED).count() == count

    eventually(all_done, what="the end of all turns")
    return count / (time.perf_counter() - started)
