"""Named places where a fault test may kill the process; without COPILOT_CRASH_AT they do nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from django.conf import settings

KILLED = 137


def reached(name: str) -> None:
    """Die here, as by kill -9, when COPILOT_CRASH_AT says `name:marker` and the file `marker` is not there yet.

    The marker makes the crash happen once: the process that takes the job over passes the same place alive.
    """
    place, _, marker = settings.COPILOT_CRASH_AT.partition(":")
    if place != name:
        return
    try:
        Path(marker).open("x").close()
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
