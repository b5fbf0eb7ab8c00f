"""A pytest plugin that writes down how long the files of tests took, by the clock and in processor seconds.

Processor seconds include those of every process that the tests started. They hardly change with what else runs on the
machine, which is why the goals of the tiers are told in them.
"""

from __future__ import annotations

import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
PARENT, TIMES = 1, slice(11, 15)  # in /proc/PID/stat, after the name of the program
Spent = tuple[float, float]  # by the clock, of processors


class FileTimes:
    """How long each file took in this process, or, on the first one of many, in all of them."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, Spent] = defaultdict(lambda: (0.0, 0.0))
        self.last = now()

    def pytest_collection_finish(self) -> None:
        self.charge("collection")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        done = yield
        if nextitem is None or nextitem.path != item.path:
            self.charge(item.nodeid.partition("::")[0])
        return done

    def charge(self, name: str) -> None:
        """Count what was spent since the last time as that of a file."""
        before, self.last = self.last, now()
        self.add(name, (self.last[0] - before[0], self.last[1] - before[1]))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["spent"] = dict(self.spent)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for name, spent in getattr(node, "workeroutput", {}).get("spent", {}).items():
            self.add(name, spent)

    def add(self, name: str, seconds: Spent) -> None:
        clock, processors = self.spent[name]
        self.spent[name] = clock + seconds[0], processors + seconds[1]


def now() -> Spent:
    return time.monotonic(), processor_seconds(os.getpid())


def processor_seconds(pid: int) -> float:
    """Of a process and all below it, those that have ended included."""
    if not Path("/proc/self/stat").exists():
        own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    children: defaultdict[int, list[int]] = defaultdict(list)
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue  # it has just ended
        number = int(path.parent.name)
        children[int(fields[PARENT])].append(number)
        ticks[number] = sum(map(int, fields[TIMES]))
    total, left = 0, [pid]
    while left:
        number = left.pop()
        total += ticks.get(number, 0)
        left += children[number]
    return total / TICKS
