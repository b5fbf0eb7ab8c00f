"""Control groups: the kernel's own limit on what all processes of a box use together, its own memory included.

Made where this process may make them, one per slot, and named after it: what a killed process left is found again. Not
every machine allows it, so `watching` and the limits of each process hold without.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import structlog

from boundary.errors import SandboxBusy
from boundary.sandbox.slots import claim_slot, lock_slot, scratch
from boundary.sandbox.types import SandboxLimits
from durable import limits as caps

log = structlog.get_logger(__name__)
NEEDED = ("memory", "pids")
OUR_PROCESSES = 8  # bubblewrap and what starts it
OUR_BYTES = 32 * 1024 * 1024  # their memory, and the kernel's for a box that does nothing
MAX_SLOTS_SWEPT = 256


class NoControlGroups(Exception):
    """No control group can be made here; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Controllers:
    """Where groups of boxes are made: the folders above them, one for version 2, one per controller for version 1."""

    version: int
    parents: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True)
class Group:
    """The control group of one box."""

    version: int
    folders: tuple[Path, ...]

    def open_entrances(self, cleanup: contextlib.ExitStack) -> list[int]:
        """Return descriptors; a process that writes "0" to each of them is in the group."""
        found = []
        for folder in self.folders:
            found.append(os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
            cleanup.callback(os.close, found[-1])
        return found

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel has ended a process of the group because of its limit."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        try:
            found = re.search(r"^oom_kill (\d+)$", (self.folders[0] / name).read_text(), re.MULTILINE)
        except OSError:
            return False
        return found is not None and int(found[1]) > 0

    def remove(self) -> None:
        """End what is left in the group and remove it; logs when that fails, and the next start tries again."""
        deadline = time.monotonic() + caps.SANDBOX_KILL_SECONDS
        for folder in self.folders:
            while folder.exists():
                try:
                    kill_members(folder)
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError as error:
                    if time.monotonic() > deadline:
                        log.warning(
                            "a control group could not be removed", folder=str(folder), error=str(error)
                        )
                        break
                    time.sleep(caps.SANDBOX_TICK_SECONDS)  # the kernel takes a moment after the last process


@contextlib.contextmanager
def open_group(slot: int, limits: SandboxLimits) -> Iterator[Group | None]:
    """Yield a group for the box in a slot that the caller holds, or None where there are none; remove it afterwards."""
    try:
        group = claim_group(find_controllers(), slot, limits)
    except NoControlGroups:
        yield None
        return
    try:
        yield group
    finally:
        group.remove()


def claim_group(controllers: Controllers, slot: int, limits: SandboxLimits) -> Group:
    """Make the group of a slot that the caller holds, and remove those of killed processes; raises NoControlGroups."""
    sweep(controllers, slot)
    return make_group(controllers, f"{prefix()}{slot}", limits)


def describe() -> str:
    """Return a sentence for operators: what limits the total of a box on this machine."""
    try:
        found = find_controllers()
        with contextlib.suppress(SandboxBusy), claim_slot() as slot:  # those at work have groups then
            claim_group(found, slot, SandboxLimits()).remove()
    except NoControlGroups as error:
        return (
            f"no cgroup limits a box as a whole ({error}). Its memory, files and sockets are measured "
            f"{round(1 / caps.SANDBOX_TICK_SECONDS)} times a second and it is ended when they are too much; kernel "
            "memory of other kinds is not counted, so limit the memory of the whole container or service"
        )
    return f"cgroup v{found.version} limits memory and processes of each box"


def find_controllers(proc: Path = Path("/proc/self")) -> Controllers:
    """Return where this process may make groups with limits on memory and processes; raises NoControlGroups."""
    own, mounts = own_groups(proc), list(read_mounts(proc))
    unified = [folder for kind, _, folder in located(mounts, own) if kind == "cgroup2"]
    for folder in unified:
        if parent := version_2_parent(folder):
            return Controllers(version=2, parents=(check_writable(parent),))
    separate = {name: folder for kind, name, folder in located(mounts, own) if kind == "cgroup"}
    if all(name in separate for name in NEEDED):
        return Controllers(version=1, parents=tuple(check_writable(separate[name]) for name in NEEDED))
    raise NoControlGroups("there are no controllers for memory and pids that it could use")


def own_groups(proc: Path) -> dict[str, str]:
    """Return the group of this process per controller; version 2 has the name ""."""
    found = {}
    for line in read(proc / "cgroup").splitlines():
        _, names, path = line.split(":", 2)
        found.update(dict.fromkeys(names.split(","), path))
    return found


def read_mounts(proc: Path) -> Iterator[tuple[str, list[str], str, Path]]:
    """Yield type, controllers, root and mount point of each control group file system."""
    for line in read(proc / "mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        fields, (kind, _, options) = left.split(), right.split(maxsplit=2)
        if kind == "cgroup2":
            yield kind, [""], fields[3], Path(fields[4])
        elif kind == "cgroup":
            yield kind, [name for name in NEEDED if name in options.split(",")], fields[3], Path(fields[4])


def located(
    mounts: list[tuple[str, list[str], str, Path]], own: dict[str, str]
) -> Iterator[tuple[str, str, Path]]:
    """Yield the folder of this process's own group in each of the mounts that show it."""
    for kind, names, root, mount in mounts:
        for name in names:
            path = own.get(name, "")
            if path and Path(path).is_relative_to(root) and ".." not in Path(path).parts:
                folder = mount / Path(path).relative_to(root)
                if folder.is_dir():
                    yield kind, name, folder


def version_2_parent(own: Path) -> Path | None:
    """Return the folder below which groups get both limits, or None.

    A group with processes, as our own, cannot limit groups below it; only the root of the hierarchy can.
    """
    folder = own.parent if (own / "cgroup.type").exists() else own
    if set(NEEDED) <= set(read(folder / "cgroup.subtree_control").split()):
        return folder
    if set(NEEDED) <= set(read(folder / "cgroup.controllers").split()):
        with contextlib.suppress(OSError):
            (folder / "cgroup.subtree_control").write_text("+memory +pids")
            return folder
    return None


def check_writable(folder: Path) -> Path:
    if not os.access(folder, os.W_OK):
        raise NoControlGroups(f"it may not make any in {folder}")
    return folder


def make_group(controllers: Controllers, name: str, limits: SandboxLimits) -> Group:
    """Make the group of a box afresh and set its limits; raises NoControlGroups."""
    group = Group(version=controllers.version, folders=tuple(parent / name for parent in controllers.parents))
    group.remove()  # of a process that was killed
    try:
        for folder in group.folders:
            folder.mkdir()
        set_limits(group, limits)
    except OSError as error:
        group.remove()
        log.warning("no control group could be made", error=str(error))
        raise NoControlGroups(f"a group could not be made: {error}") from None
    return group


def set_limits(group: Group, limits: SandboxLimits) -> None:
    memory = str(limits.memory_bytes + limits.tmp_bytes + OUR_BYTES)
    processes = str(limits.processes + OUR_PROCESSES)
    first, last = group.folders[0], group.folders[-1]
    if group.version == 2:
        (first / "memory.max").write_text(memory)
        write_if_there(first, {"memory.swap.max": "0", "memory.oom.group": "1"})
    else:
        (first / "memory.limit_in_bytes").write_text(memory)
        write_if_there(
            first, {"memory.memsw.limit_in_bytes": memory, "memory.kmem.tcp.limit_in_bytes": memory}
        )
    (last / "pids.max").write_text(processes)


def write_if_there(folder: Path, values: dict[str, str]) -> None:
    """Not every kernel counts swap or the memory of TCP."""
    for name, value in values.items():
        with contextlib.suppress(OSError):
            (folder / name).write_text(value)


def sweep(controllers: Controllers, slot: int) -> None:
    """Remove the groups of slots that nobody holds: their processes were killed."""
    start = prefix()
    names = {folder.name for parent in controllers.parents for folder in parent.glob(f"{start}*")}
    for name in sorted(names - {f"{start}{slot}"})[:MAX_SLOTS_SWEPT]:
        number = name.removeprefix(start)
        with contextlib.ExitStack() as held:
            if number.isdigit() and lock_slot(int(number), held):
                Group(
                    version=controllers.version,
                    folders=tuple(parent / name for parent in controllers.parents),
                ).remove()


def prefix() -> str:
    """Return how the names of this machine's groups begin; slots of another scratch folder are others."""
    found = scratch().stat()
    return f"ratchet-{hashlib.sha256(f'{found.st_dev}:{found.st_ino}'.encode()).hexdigest()[:12]}-"


def kill_members(folder: Path) -> None:
    kill_all = folder / "cgroup.kill"
    if kill_all.exists():
        kill_all.write_text("1")
        return
    for number in read(folder / "cgroup.procs").split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(number), signal.SIGKILL)


def read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
