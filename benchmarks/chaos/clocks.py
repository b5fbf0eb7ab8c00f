"""Workers with wrong clocks: F19 jumps, F28 ten minutes apart."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.chaos.deployment import (
    expect_no_takeover,
    takeovers,
)
from benchmarks.chaos.field import Field
from benchmarks.chaos.scenario import scenario
from tests.harness import eventually

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
HOUR = 3600


def no_faketime() -> str:
    return "" if FAKETIME else "it needs libfaketime (on Debian: apt install faketime)"


def shifted_clock(field: Field, name: str, seconds: int) -> dict[str, str]:
    """Return the environment of a process whose wall clock, not its monotonic one, is off by the offset in its file."""
    path = set_clock(field, name, seconds)
    return {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(path),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


def set_clock(field: Field, name: str, seconds: int) -> Path:
    path = field.stack.home / f"{name}.clock"
    path.write_text(f"{seconds:+d}\n")
    return path


@contextmanager
def wrong_clocks(field: Field, *shifts: int) -> Iterator[None]:
    """Run the workers with clocks that are off by these seconds."""
    for worker, shift in zip(range(field.workers), shifts, strict=False):
        field.stack.kill(f"worker{worker}")
        field.stack.start_worker(worker, env=shifted_clock(field, f"worker{worker}", shift))
    eventually(field.all_up, what="workers with wrong clocks")
    yield
    for name in field.worker_names():
        field.stack.kill(name)
        field.stack.start_worker(int(name.removeprefix("worker")))


@scenario("F19", "clocks of workers jump by an hour, forth and back", why_not=no_faketime)
def clock_jumps(field: Field) -> None:
    with wrong_clocks(field, *([0] * field.workers)):
        before = takeovers()
        with field.load():
            for jump in range(field.pick(2, 20)):
                time.sleep(2)
                field.struck(field.running())
                for name in field.worker_names():
                    (field.stack.home / f"{name}.clock").write_text(
                        f"{HOUR * random.choice((-1, 1)) * (jump % 2):+d}\n"
                    )
        expect_no_takeover(field, before)


@scenario("F28", "clocks of workers ten minutes apart", why_not=no_faketime)
def clocks_apart(field: Field) -> None:
    with wrong_clocks(field, 600, -600, 0):
        before = takeovers()
        with field.load():
            time.sleep(field.pick(10, 60))
        expect_no_takeover(field, before)
        with field.load():
            for _ in range(field.pick(1, 10)):
                field.kill_worker(field.victim())
