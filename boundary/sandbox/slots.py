"""Slots: how many boxes run at once on this machine, and which user each of them runs as."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import random
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from boundary.errors import SandboxBroken, SandboxBusy
from durable import limits

FIRST_UID = 60_000


def scratch() -> Path:
    """The folder of slots and boxes. Slot users pass through it but cannot list it."""
    folder = Path(tempfile.gettempdir()) / f"ratchet-sandbox-{os.geteuid()}"
    folder.mkdir(mode=0o711, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise SandboxBroken(f"{folder} belongs to somebody else. Remove it.")
    return folder


@contextlib.contextmanager
def claim_slot(owner: str = "", cancelled: Callable[[], bool] = lambda: False) -> Iterator[int]:
    """Hold one slot of this machine; the lock goes with the process, however it ends. Raises SandboxBusy.

    One owner holds at most SANDBOX_SLOTS_PER_USER of them; nobody in particular ("") is not limited so.
    """
    deadline = time.monotonic() + limits.SANDBOX_SLOT_WAIT_SECONDS
    with contextlib.ExitStack() as held:
        if owner:
            share = hashlib.sha256(owner.encode()).hexdigest()[:32]
            wait_for_lock(f"{share}-", limits.SANDBOX_SLOTS_PER_USER, held, deadline, cancelled)
        yield wait_for_lock("", limits.SANDBOX_SLOTS, held, deadline, cancelled)


def wait_for_lock(
    prefix: str, count: int, held: contextlib.ExitStack, deadline: float, cancelled: Callable[[], bool]
) -> int:
    """Take any of the numbered locks for as long as `held` is open; its number. Raises SandboxBusy."""
    while True:
        for number in random.sample(range(count), count):
            if lock_slot(number, held, prefix):
                return number
        if time.monotonic() > deadline or cancelled():
            raise SandboxBusy
        time.sleep(limits.SANDBOX_TICK_SECONDS)  # a file lock cannot be waited for with a deadline


def lock_slot(number: int, held: contextlib.ExitStack, prefix: str = "") -> bool:
    """Take one of the numbered locks if nobody has it, for as long as `held` is open."""
    folder = scratch() / "slots"
    folder.mkdir(mode=0o700, exist_ok=True)
    with contextlib.ExitStack() as taken:
        if not try_lock(folder / f"{prefix}{number}.lock", taken):
            return False
        held.push(taken.pop_all())
        return True


def try_lock(path: Path, held: contextlib.ExitStack) -> bool:
    """Take the lock file if nobody has it, for as long as `held` is open."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    held.callback(os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def slot_uid(slot: int) -> int | None:
    """The user a slot runs as: one of its own when we are root, ourselves otherwise."""
    return FIRST_UID + slot if os.geteuid() == 0 else None
