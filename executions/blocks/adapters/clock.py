"""The machine's clock, as a port."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from durable import limits
from durable.connections import outside_wait
from llm.types import CancelSignal


class SystemClock:
    """Waits without spinning, a slice at a time; a cancel wakes it at once."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    @outside_wait()
    def wait_until(self, moment: datetime, cancel: CancelSignal) -> None:
        woken = threading.Event()
        remove = cancel.add_callback(woken.set)
        try:
            seconds = (moment - self.now()).total_seconds()
            woken.wait(timeout=min(max(seconds, 0.0), limits.WAIT_SLICE_SECONDS))
        finally:
            remove()
