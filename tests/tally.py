"""A pytest plugin that writes down how many tests ended how, for `./copilot test`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")


class Tally:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.browser = 0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.browser += sum(item.get_closest_marker("browser") is not None for item in items)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        counts = {name: len(terminalreporter.stats.get(name, ())) for name in COUNTED}
        self.path.write_text(json.dumps({"counts": counts, "browser": self.browser}))


def pytest_configure(config: pytest.Config) -> None:
    if path := os.environ.get("TEST_TALLY"):
        config.pluginmanager.register(Tally(Path(path)))
