"""The environment of a benchmark: its own home folder, Redis, database and model, and Django set up for them."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import django

from tests.harness import Stack, prepared_sqlite

# A benchmark asks how much fits, so the limits that keep one person from taking everything are lifted.
LIFTED = {
    "COPILOT_MAX_RUNNING_TURNS_PER_USER": "100000",
    "COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER": "100000",
    "COPILOT_MAX_WRITES_PER_MINUTE": "1000000",
    "LOG_LEVEL": "WARNING",
}
DATABASE = "BENCH_DATABASE_URL"  # on whose server a benchmark may make databases of its own


def leave_in_order() -> None:
    """Handle SIGTERM like Ctrl-C, so that no process is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextmanager
def environment(
    *, env: Mapping[str, str] | None = None, lease_seconds: float = 15.0, kind: type[Stack] = Stack
) -> Iterator[Stack]:
    """Run a stack with Redis only; the benchmark starts what else it needs."""
    leave_in_order()
    home = Path(tempfile.mkdtemp(prefix="rb-"))
    stack = kind(
        home,
        database_url=os.environ.get(DATABASE, ""),
        env={**LIFTED, **(env or {})},
        lease_seconds=lease_seconds,
    )
    try:
        stack.start_redis()
        ready, stack.keys = prepared_sqlite()
        shutil.copytree(ready, home, dirs_exist_ok=True)
        os.environ.update(stack.environment())
        django.setup()
        yield stack
    finally:
        stack.stop()
        shutil.rmtree(home, ignore_errors=True)
