"""The context of a node run, passed to its block."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from blocks.errors import BlockCancelled, BlockTimedOut
from blocks.ports import Ports
from durable.stop_signal import StopSignal


class Meter:
    """Counts billable usage of a run; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.items = 0
        self.tokens = 0
        self.model_cost = Decimal(0)

    def add(self, *, items: int = 0, tokens: int = 0, model_cost: Decimal = Decimal(0)) -> None:
        with self._lock:
            self.items += items
            self.tokens += tokens
            self.model_cost += model_cost


def ignore_progress(fraction: float, message: str) -> None:
    """Discard progress reports."""


@dataclass(frozen=True, kw_only=True)
class BlockContext:
    """One node run: its ids, its deadline and its ports."""

    user_id: str
    agent_id: str
    execution_id: str
    node_id: str
    node_execution_id: str
    idempotency_key: str  # identical for every attempt of this node run
    cancel: StopSignal
    ports: Ports
    deadline: float | None = None  # monotonic; None means no limit
    report_progress: Callable[[float, str], None] = ignore_progress  # fraction (0 to 1) and message
    meter: Meter = field(default_factory=Meter)
    timezone: str = "UTC"  # the user's
    from_chat: bool = False  # run from a chat, not by an agent
    safe_mode: bool = True  # reviews are required
    recorded_outputs: int = 0  # number of outputs from earlier attempts, for resumable blocks

    def check(self) -> None:
        """Raise BlockCancelled or BlockTimedOut if the run must stop; long work calls this between steps."""
        if self.cancel.is_set():
            raise BlockCancelled
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise BlockTimedOut

    def key(self, part: str) -> str:
        """Return the idempotency key of one of several effects of this run."""
        return f"{self.idempotency_key}:{part}"

    def now(self) -> datetime:
        return self.ports.clock.now()

    def wait_until(self, moment: datetime) -> None:
        """Wait until `moment`; raise BlockCancelled or BlockTimedOut if the run must stop earlier."""
        while True:
            self.check()
            if moment <= self.now():
                return
            self.ports.clock.wait_until(moment, self.cancel)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)
