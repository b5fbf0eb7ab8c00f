"""What a block knows of the run it is part of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from executions.blocks.errors import BlockCancelled, BlockTimedOut
from executions.ports import Ports
from llm.types import CancelSignal


class Meter:
    """Counts what a run used, from any thread; the engine bills it."""

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
    """Nobody watches."""


@dataclass(frozen=True, kw_only=True)
class BlockContext:
    """One node run: who, where, how long, and the doors to the world."""

    user_id: str
    agent_id: str
    execution_id: str
    node_id: str
    node_execution_id: str
    idempotency_key: str  # the same for every attempt of this node run
    cancel: CancelSignal
    ports: Ports
    deadline: float | None = None  # on the monotonic clock; None means no cap
    report_progress: Callable[[float, str], None] = ignore_progress  # 0..1 and a sentence
    meter: Meter = field(default_factory=Meter)
    timezone: str = "UTC"  # the user's
    from_chat: bool = False  # run by a person in a chat, not by a graph
    safe_mode: bool = True  # reviews are asked for
    recorded_outputs: int = 0  # how many outputs an earlier attempt left; only resumable blocks look

    def check(self) -> None:
        """Raise when the run was cancelled or its time is over; long work calls this between its steps."""
        if self.cancel.is_set():
            raise BlockCancelled
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise BlockTimedOut

    def key(self, part: str) -> str:
        """The key of one of several effects of this run."""
        return f"{self.idempotency_key}:{part}"

    def now(self) -> datetime:
        return self.ports.clock.now()

    def wait_until(self, moment: datetime) -> None:
        """Return when `moment` has come; a cancel or the time cap ends the wait early."""
        while True:
            self.check()
            if moment <= self.now():
                return
            self.ports.clock.wait_until(moment, self.cancel)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)
