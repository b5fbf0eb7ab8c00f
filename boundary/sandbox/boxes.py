"""Boxes: the folder a command works in, filled before and read after it by a host that trusts nothing in it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from boundary.errors import SandboxBroken
from boundary.sandbox.slots import scratch
from boundary.sandbox.types import CollectedFile
from durable import limits
from durable.connections import outside_wait

MAX_DEPTH = 32
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOLDER_FLAGS = READ_FLAGS | os.O_DIRECTORY


@contextlib.contextmanager
def open_box() -> Iterator[Path]:
    """A fresh folder for one or more commands; it is gone afterwards, with everything in it."""
    boxes = scratch() / "boxes"
    boxes.mkdir(mode=0o711, exist_ok=True)
    sweep(boxes)
    box = Path(tempfile.mkdtemp(dir=boxes))
    with contextlib.ExitStack() as held:
        held.callback(remove, box)
        assert lock(box, held), "a fresh folder is nobody else's"
        yield box


def sweep(boxes: Path) -> None:
    """Remove the boxes of hosts that were killed: old, and no longer locked."""
    for box in boxes.iterdir():
        with (
            contextlib.ExitStack() as held,
            contextlib.suppress(FileNotFoundError),
        ):  # another sweep was faster
            if time.time() - box.stat().st_ctime > limits.STALE_BOX_SECONDS and lock(box, held):
                remove(box)


def lock(box: Path, held: contextlib.ExitStack) -> bool:
    """Mark a box as in use for as long as `held` is open; False when somebody has."""
    descriptor = os.open(box, FOLDER_FLAGS)
    held.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@outside_wait()
def remove(box: Path) -> None:
    """`rm` copes with trees of any depth; a command may have locked its own folders, so those are opened first."""
    for program in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        if box.exists():
            subprocess.run(  # noqa: S603 - fixed programs, our own path
                [*program, "--", str(box)],
                stderr=subprocess.DEVNULL,
                timeout=limits.MAX_SANDBOX_SECONDS,
                check=False,
            )


def fill(box: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a box before anything ran in it."""
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            raise SandboxBroken(f"{name[:100]!r} is not a name for a file in the box.")
        target = box / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def hand_over(box: Path, uid: int | None) -> None:
    """Give the box and all in it to the slot's user. Nothing is followed: the box may have held a command before."""
    if uid is None:
        return
    for _, _, names, folder_fd in os.fwalk(box, follow_symlinks=False):
        os.fchown(folder_fd, uid, uid)
        for name in names:
            os.chown(name, uid, uid, dir_fd=folder_fd, follow_symlinks=False)


@dataclass(kw_only=True)
class Collection:
    """What was found in a box."""

    files: list[CollectedFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    size: int = 0


def collect(
    box: Path,
    known: Mapping[str, bytes],
    *,
    max_files: int = limits.MAX_COLLECTED_FILES,
    max_bytes: int = limits.MAX_COLLECTED_BYTES,
) -> Collection:
    """The regular files in a box that are new or changed. Links, devices and pipes are named, never opened."""
    found = Collection()
    top = os.open(box, FOLDER_FLAGS)
    try:
        collect_folder(top, PurePosixPath(), found, known, max_files, max_bytes)
    finally:
        os.close(top)
    return found


def collect_folder(
    folder: int,
    at: PurePosixPath,
    found: Collection,
    known: Mapping[str, bytes],
    max_files: int,
    max_bytes: int,
) -> None:
    """One folder by its descriptor, so that no name is ever looked up through a link."""
    for name in sorted(os.listdir(folder)):
        path = at / name
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if len(found.left_out) >= limits.MAX_COLLECTED_FILES:
            return
        if stat.S_ISDIR(kind.st_mode) and len(path.parts) <= MAX_DEPTH:
            with opened(name, folder, FOLDER_FLAGS) as inner:
                if inner is None:
                    found.left_out.append(shown(path))
                else:
                    collect_folder(inner, path, found, known, max_files, max_bytes)
            continue
        content = None
        if stat.S_ISREG(kind.st_mode) and kind.st_nlink == 1 and len(found.files) < max_files:
            content = read_regular(name, folder, max_bytes - found.size)
        if content is None:
            found.left_out.append(shown(path))
        elif known.get(str(path)) != content:
            found.files.append(CollectedFile(path=shown(path), content=content))
            found.size += len(content)


def read_regular(name: str, folder: int, room: int) -> bytes | None:
    """A file's content if it is a regular file that fits, else None."""
    with opened(name, folder, READ_FLAGS) as descriptor:
        if descriptor is None:
            return None
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1 or facts.st_size > room:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(room + 1)
        return content if len(content) <= room else None


@contextlib.contextmanager
def opened(name: str, folder: int, flags: int) -> Iterator[int | None]:
    """A descriptor below a folder, or None when it may not be opened."""
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def shown(path: PurePosixPath) -> str:
    """A path as text: names made of other bytes than UTF-8 get replacement characters."""
    return os.fsencode(path).decode("utf-8", "replace")
