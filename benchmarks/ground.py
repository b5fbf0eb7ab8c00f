"""The environment of a benchmark: its own home folder, Redis, database and model, and Django set up for them."""

from __future__ import annotations

import json
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


TEMPLATE = "BENCH_TEMPLATE"
DATABASE = "BENCH_DATABASE_URL"  # on whose server a benchmark may make databases of its own
KEYS = "rig-keys.json"


@contextmanager
def template() -> Iterator[tuple[Path, dict[str, str]]]:
    """Return a home folder with a migrated database to copy: that of the whole run, else a new one."""
    if shared := os.environ.get(TEMPLATE):
        yield Path(shared), json.loads((Path(shared) / KEYS).read_text())
        return
    home, keys = prepared_sqlite()
    (home / KEYS).write_text(json.dumps(keys))
    try:
        yield home, keys
    finally:
        shutil.rmtree(home, ignore_errors=True)


def leave_in_order() -> None:
    """Handle SIGTERM like Ctrl-C, so that no process is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextmanager
def ground(
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
        with template() as (ready, keys):
            shutil.copytree(ready, home, dirs_exist_ok=True)
        stack.keys = keys
        os.environ.update(stack.environment())
        django.setup()
        yield stack
    finally:
        stack.stop()
        shutil.rmtree(home, ignore_errors=True)
