"""Slots limit how many sandboxes run at once on this machine, and determine the user each one runs as."""

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

from boundary import limits
from boundary.errors import SandboxBroken, SandboxBusy

FIRST_UID = 60_000


def scratch() -> Path:
    """Return the folder of slots and workdirs, which slot users can traverse but not list."""
    folder = Path(tempfile.gettempdir()) / f"ratchet-sandbox-{os.geteuid()}"
    folder.mkdir(mode=0o711, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise SandboxBroken(f"{folder} belongs to another user or is writable by others. Remove it.")
    return folder


@contextlib.contextmanager
def claim_slot(owner: str = "", cancelled: Callable[[], bool] = lambda: False) -> Iterator[int]:
    """Hold one slot of this machine; raise SandboxBusy if none becomes free in time.

    The lock ends with the process. An owner can hold at most SANDBOX_SLOTS_PER_USER slots; without an owner ("") only
    the total counts.
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
    """Take any of the numbered locks while `held` is open and return its number; raise SandboxBusy."""
    while True:
        for number in random.sample(range(count), count):
            if lock_slot(number, held, prefix):
                return number
        if time.monotonic() > deadline or cancelled():
            raise SandboxBusy
        time.sleep(limits.SANDBOX_TICK_SECONDS)  # flock has no timeout


def lock_slot(number: int, held: contextlib.ExitStack, prefix: str = "") -> bool:
    """Try to take a numbered lock while `held` is open; return whether it was free."""
    folder = scratch() / "slots"
    folder.mkdir(mode=0o700, exist_ok=True)
    with contextlib.ExitStack() as taken:
        if not try_lock(folder / f"{prefix}{number}.lock", taken):
            return False
        held.push(taken.pop_all())
        return True


def try_lock(path: Path, held: contextlib.ExitStack) -> bool:
    """Try to lock a file while `held` is open; return whether it was free."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    held.callback(os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def slot_uid(slot: int) -> int | None:
    """Return the slot's own user if we are root, else None: the command runs as our user."""
    return FIRST_UID + slot if os.geteuid() == 0 else None
