"""Control groups: kernel limits on the total that all processes of a sandbox use, kernel memory included.

There is one group per slot, named after it, so that groups left by a killed process are found again. Not every machine
allows control groups; `resource_usage` and the per-process limits work without them.
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

from boundary import limits
from boundary.errors import SandboxBusy
from boundary.sandbox.slots import claim_slot, lock_slot, scratch
from boundary.sandbox.types import SandboxLimits

log = structlog.get_logger(__name__)
NEEDED = ("memory", "pids")
OUR_PROCESSES = 8  # bubblewrap and the programs that start it
OUR_BYTES = 32 * 1024 * 1024  # their memory, and kernel memory of an idle sandbox
MAX_SLOTS_SWEPT = 256


class NoControlGroups(Exception):
    """Control groups cannot be created here; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Controllers:
    """The parent folders of our groups: one for version 2, one per controller for version 1."""

    version: int
    parents: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True)
class Group:
    """The control group of one sandbox."""

    version: int
    folders: tuple[Path, ...]

    def open_entrances(self, cleanup: contextlib.ExitStack) -> list[int]:
        """Return descriptors; a process joins the group by writing "0" to each of them."""
        found = []
        for folder in self.folders:
            found.append(os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
            cleanup.callback(os.close, found[-1])
        return found

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel killed a process of the group for exceeding its memory limit."""
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        try:
            found = re.search(r"^oom_kill (\d+)$", (self.folders[0] / name).read_text(), re.MULTILINE)
        except OSError:
            return False
        return found is not None and int(found[1]) > 0

    def remove(self) -> None:
        """Kill what is left in the group and remove it; a failure is logged and retried at the next start."""
        deadline = time.monotonic() + limits.SANDBOX_KILL_SECONDS
        for folder in self.folders:
            while folder.exists():
                try:
                    kill_members(folder)
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError as error:
                    if time.monotonic() > deadline:
                        log.warning("control group not removed", folder=str(folder), error=str(error))
                        break
                    time.sleep(
                        limits.SANDBOX_TICK_SECONDS
                    )  # the kernel needs a moment after the last process


@contextlib.contextmanager
def open_group(slot: int, limits: SandboxLimits) -> Iterator[Group | None]:
    """Yield the group of a slot that the caller holds, or None without control groups; remove it afterwards."""
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
    """Create the group of a slot that the caller holds, and remove stale groups; raise NoControlGroups."""
    sweep(controllers, slot)
    return make_group(controllers, f"{prefix()}{slot}", limits)


def describe() -> str:
    """Return a sentence for operators on how the total usage of a sandbox is limited on this machine."""
    try:
        found = find_controllers()
        with contextlib.suppress(SandboxBusy), claim_slot() as slot:  # then running sandboxes have groups
            claim_group(found, slot, SandboxLimits()).remove()
    except NoControlGroups as error:
        return (
            f"no cgroup limits a sandbox as a whole ({error}). Memory, files and sockets are measured "
            f"{round(1 / limits.SANDBOX_TICK_SECONDS)} times a second, and a sandbox over its limit is killed. Other "
            "kernel memory is not counted, so limit the memory of the whole container or service"
        )
    return f"cgroup v{found.version} limits memory and processes of each sandbox"


def find_controllers(proc: Path = Path("/proc/self")) -> Controllers:
    """Return where this process can create groups that limit memory and processes; raise NoControlGroups."""
    own, mounts = own_groups(proc), list(read_mounts(proc))
    unified = [folder for kind, _, folder in located(mounts, own) if kind == "cgroup2"]
    for folder in unified:
        if parent := version_2_parent(folder):
            return Controllers(version=2, parents=(check_writable(parent),))
    separate = {name: folder for kind, name, folder in located(mounts, own) if kind == "cgroup"}
    if all(name in separate for name in NEEDED):
        return Controllers(version=1, parents=tuple(check_writable(separate[name]) for name in NEEDED))
    raise NoControlGroups("no usable controllers for memory and pids")


def own_groups(proc: Path) -> dict[str, str]:
    """Return the group of this process per controller; the key for version 2 is ""."""
    found = {}
    for line in read(proc / "cgroup").splitlines():
        _, names, path = line.split(":", 2)
        found.update(dict.fromkeys(names.split(","), path))
    return found


def read_mounts(proc: Path) -> Iterator[tuple[str, list[str], str, Path]]:
    """Yield type, controllers, root and mount point of each cgroup file system."""
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
    """Yield the folder of this process's own group in each mount that contains it."""
    for kind, names, root, mount in mounts:
        for name in names:
            path = own.get(name, "")
            if path and Path(path).is_relative_to(root) and ".." not in Path(path).parts:
                folder = mount / Path(path).relative_to(root)
                if folder.is_dir():
                    yield kind, name, folder


def version_2_parent(own: Path) -> Path | None:
    """Return the folder whose child groups get both limits, or None.

    A group that contains processes, like our own, cannot limit its child groups unless it is the root.
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
        raise NoControlGroups(f"no permission to create groups in {folder}")
    return folder


def make_group(controllers: Controllers, name: str, limits: SandboxLimits) -> Group:
    """Create a new group with limits; raise NoControlGroups."""
    group = Group(version=controllers.version, folders=tuple(parent / name for parent in controllers.parents))
    group.remove()  # left by a killed process
    try:
        for folder in group.folders:
            folder.mkdir()
        set_limits(group, limits)
    except OSError as error:
        group.remove()
        log.warning("control group not created", error=str(error))
        raise NoControlGroups(f"a group could not be created: {error}") from None
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
    """Set optional limits; not every kernel accounts for swap or TCP memory."""
    for name, value in values.items():
        with contextlib.suppress(OSError):
            (folder / name).write_text(value)


def sweep(controllers: Controllers, slot: int) -> None:
    """Remove the groups of slots that no process holds any more."""
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
    """Return the name prefix of our groups, which is different for each scratch folder."""
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
