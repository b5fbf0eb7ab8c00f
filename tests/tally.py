"""A pytest plugin that writes down how many tests ended how, for `./copilot test`, on one process or on many."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")


class Tally:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.browser = 0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.browser += sum(item.get_closest_marker("browser") is not None for item in items)

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
        counts = {name: len(terminalreporter.stats.get(name, ())) for name in COUNTED}
        self.path.write_text(json.dumps({"counts": counts, "browser": self.browser}))


def pytest_configure(config: pytest.Config) -> None:
    if path := os.environ.get("TEST_TALLY"):
        config.pluginmanager.register(Tally(Path(path)))
