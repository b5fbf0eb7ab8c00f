"""A real offline model server per run, and the settings that point at it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from pytest_django import Settings

from durable.stop_signal import StopSignal
from llm import Completion, Delta, Policy, Request, TextDelta, stream
from llm.types import StreamReset
from tests.offline_server import OfflineServer

KEY = "sk-test-canary-0123456789"
# Connecting to this machine never waits for the other side, only for a turn on a busy one: its limit may be long.
FAST = Policy(backoff_seconds=0.001, backoff_cap_seconds=0.002, idle_seconds=0.4, connect_seconds=60.0)
PATIENT = replace(FAST, idle_seconds=60.0)  # for servers that never fall silent


@pytest.fixture(scope="session")
def running_server() -> Iterator[OfflineServer]:
    with OfflineServer() as server:
        yield server


@pytest.fixture
def server(running_server: OfflineServer, settings: Settings) -> OfflineServer:
    running_server.reset()
    settings.OPENAI_API_KEY = KEY
    settings.OPENAI_BASE_URL = running_server.url
    settings.COPILOT_MODEL = "offline"
    settings.COPILOT_TITLE_MODEL = ""
    settings.COPILOT_FALLBACK_MODEL = ""
    return running_server


class Asked:
    """One question with everything that was heard of it."""

    def __init__(
        self, text: str = "go", *, model: str = "offline", policy: Policy = FAST, **fields: object
    ) -> None:
        self.deltas: list[Delta] = []
        self.request = Request(model=model, messages=[{"role": "user", "content": text}], **fields)  # type: ignore[arg-type]
        self.policy = policy

    def run(self, cancelled: StopSignal | None = None) -> Completion:
        return stream(
            self.request, self.deltas.append, cancelled=cancelled or StopSignal(), policy=self.policy
        )

    @property
    def shown(self) -> str:
        """The text a reader ends with who drops what a reset voids."""
        text = ""
        for delta in self.deltas:
            match delta:
                case TextDelta():
                    text += delta.text
                case StreamReset():
                    text = ""
        return text

    def of(self, kind: type[Delta]) -> list[Delta]:
        return [delta for delta in self.deltas if isinstance(delta, kind)]


def wait_for(condition: Callable[[], object], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
