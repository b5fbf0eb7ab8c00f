"""What the sandbox's tests stand on."""

from __future__ import annotations

from typing import Any

import pytest

from boundary.sandbox import readiness, run
from durable.per_process import PerProcess
from tests.needs import BUBBLEWRAP, require


@pytest.fixture
def sandbox(settings: Any) -> None:
    settings.SANDBOX = "auto"
    require(BUBBLEWRAP)


@pytest.fixture
def fresh_self_test(monkeypatch: pytest.MonkeyPatch) -> PerProcess[readiness.SelfTest]:
    """As in a process that has just started: the sandbox has not been tested yet."""
    fresh = PerProcess(readiness.SelfTest)
    for module in (readiness, run):
        monkeypatch.setattr(module, "current_self_test", fresh)
    return fresh
