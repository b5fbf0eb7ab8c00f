"""Slots: how many boxes run at once on this machine, and which user each of them runs as."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import stat
import tempfile
import time
from collections.abc import Iterator
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
def claim_slot() -> Iterator[int]:
    """Hold one slot of this machine; the lock goes with the process, however it ends. Raises SandboxBusy."""
    folder = scratch() / "slots"
    folder.mkdir(mode=0o700, exist_ok=True)
    deadline = time.monotonic() + limits.SANDBOX_SLOT_WAIT_SECONDS
    while True:
        for slot in random.sample(range(limits.SANDBOX_SLOTS), limits.SANDBOX_SLOTS):
            with contextlib.ExitStack() as held:
                if try_lock(folder / f"{slot}.lock", held):
                    yield slot
                    return
        if time.monotonic() > deadline:
            raise SandboxBusy
        time.sleep(limits.SANDBOX_TICK_SECONDS)  # a file lock cannot be waited for with a deadline


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
