"""Working directories of sandboxed commands: create, fill, collect and remove them; their content is untrusted."""

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

from boundary import limits
from boundary.errors import SandboxBroken
from boundary.sandbox.slots import scratch
from boundary.sandbox.types import CollectedFile
from durable.database import outside_wait

MAX_DEPTH = 32
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOLDER_FLAGS = READ_FLAGS | os.O_DIRECTORY


@contextlib.contextmanager
def open_workdir() -> Iterator[Path]:
    """Create a folder for one or more commands, and remove it with its content afterwards."""
    workdirs = scratch() / "boxes"
    workdirs.mkdir(mode=0o711, exist_ok=True)
    sweep(workdirs)
    workdir = Path(tempfile.mkdtemp(dir=workdirs))
    with contextlib.ExitStack() as held:
        held.callback(remove, workdir)
        assert lock(workdir, held), "a new folder cannot be locked by others"
        yield workdir


def sweep(workdirs: Path) -> None:
    """Remove old workdirs that are no longer locked, left by killed processes."""
    for workdir in workdirs.iterdir():
        with (
            contextlib.ExitStack() as held,
            contextlib.suppress(FileNotFoundError),
        ):  # another sweep was faster
            if time.time() - workdir.stat().st_ctime > limits.STALE_BOX_SECONDS and lock(workdir, held):
                remove(workdir)


def lock(workdir: Path, held: contextlib.ExitStack) -> bool:
    """Lock a workdir while `held` is open; return False if another process has locked it."""
    descriptor = os.open(workdir, FOLDER_FLAGS)
    held.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@outside_wait()
def remove(workdir: Path) -> None:
    """Remove a workdir with `rm`, which handles any depth; if that fails, make its folders writable and retry."""
    for program in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        if workdir.exists():
            subprocess.run(  # noqa: S603 - fixed programs, our own path
                [*program, "--", str(workdir)],
                stderr=subprocess.DEVNULL,
                timeout=limits.MAX_SANDBOX_SECONDS,
                check=False,
            )


def fill(workdir: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a workdir before a command has run in it."""
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            raise SandboxBroken(f"{name[:100]!r} is not a valid file name in the workdir.")
        target = workdir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def hand_over(workdir: Path, uid: int | None) -> None:
    """Give the workdir and its content to the slot's user. Symlinks are not followed: a command may have made them."""
    if uid is None:
        return
    for _, _, names, folder_fd in os.fwalk(workdir, follow_symlinks=False):
        os.fchown(folder_fd, uid, uid)
        for name in names:
            os.chown(name, uid, uid, dir_fd=folder_fd, follow_symlinks=False)


@dataclass(kw_only=True)
class Collection:
    """The files found in a workdir."""

    files: list[CollectedFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    size: int = 0


def collect(
    workdir: Path,
    known: Mapping[str, bytes],
    *,
    max_files: int = limits.MAX_COLLECTED_FILES,
    max_bytes: int = limits.MAX_COLLECTED_BYTES,
) -> Collection:
    """Return the new and changed regular files. Links, devices and pipes are listed as left out and never opened."""
    found = Collection()
    top = os.open(workdir, FOLDER_FLAGS)
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
    """Collect one folder by its descriptor, so that no name is resolved through a symlink."""
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
    """Return the content of a regular file that fits, else None."""
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
    """Yield a descriptor of an entry in a folder, or None if it cannot be opened."""
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
    """Return a path as text, with replacement characters for bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")
