"""A pytest plugin that writes down how tests ended, for `./copilot test`: on one process or on many."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.processor_time import FileTimes

COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
SLOWEST = 10


class OutcomeFile:
    def __init__(self, path: Path, times: FileTimes) -> None:
        self.path = path
        self.times = times
        self.browser = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.browser += sum(item.get_closest_marker("browser") is not None for item in items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """With what was set up for it: the first test of a stack pays for its start."""
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """One process of many tells the first one what it left out."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["browser"] = self.browser

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """They all leave out the same."""
        self.browser = max(self.browser, getattr(node, "workeroutput", {}).get("browser", 0))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        found = {
            "counts": {name: len(terminalreporter.stats.get(name, ())) for name in COUNTED},
            "browser": self.browser,
            "reasons": Counter(map(reason, terminalreporter.stats.get("skipped", ()))),
            "spent": self.times.spent,
            "slowest": sorted(((s, name) for name, s in self.seconds.items()), reverse=True)[:SLOWEST],
        }
        self.path.write_text(json.dumps(found))


def reason(report: pytest.TestReport) -> str:
    """Why a test was skipped, without the place of the line that did it."""
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return said.removeprefix("Skipped: ")


def pytest_configure(config: pytest.Config) -> None:
    if path := os.environ.get("TEST_OUTCOMES"):
        times = FileTimes()
        config.pluginmanager.register(times)
        config.pluginmanager.register(OutcomeFile(Path(path), times))
