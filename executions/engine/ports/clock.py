"""A clock that suspends long waits, so that they hold no worker."""

from __future__ import annotations

from datetime import datetime, timedelta

from blocks.adapters.live import SystemClock
from blocks.errors import ParkedUntil
from durable.stop_signal import StopSignal
from executions import limits


class ParkingClock(SystemClock):
    """For blocks that can resume where they were."""

    def wait_until(self, moment: datetime, cancel: StopSignal) -> None:
        if moment - self.now() > timedelta(seconds=limits.INLINE_WAIT_SECONDS):
            raise ParkedUntil(moment)
        super().wait_until(moment, cancel)
