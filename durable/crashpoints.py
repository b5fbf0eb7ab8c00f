"""Named points where a fault test may kill the process; no-ops without COPILOT_CRASH_AT."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from django.conf import settings

_one_at_a_time = threading.Lock()


def reached(name: str) -> None:
    """Die as by kill -9 if COPILOT_CRASH_AT is `name:marker` and the file `marker` does not exist yet.

    The marker makes the crash happen once: the process that takes the job over passes the same point alive.
    No other thread passes it before the process is dead.
    """
    place, _, marker = settings.COPILOT_CRASH_AT.partition(":")
    if place != name:
        return
    with _one_at_a_time:
        try:
            Path(marker).open("x").close()
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
