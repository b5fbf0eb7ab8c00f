"""A clock that puts long waits aside, so that nobody holds a worker for them."""

from __future__ import annotations

from datetime import datetime, timedelta

from durable import limits
from executions.blocks.adapters.clock import SystemClock
from executions.blocks.errors import ParkedUntil
from llm.types import CancelSignal


class ParkingClock(SystemClock):
    """For blocks that can be picked up where they were."""

    def wait_until(self, moment: datetime, cancel: CancelSignal) -> None:
        if moment - self.now() > timedelta(seconds=limits.INLINE_WAIT_SECONDS):
            raise ParkedUntil(moment)
        super().wait_until(moment, cancel)
