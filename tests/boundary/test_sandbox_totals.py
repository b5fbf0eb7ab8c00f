"""SECURITY.md case 111: what all processes of a box use together, tried as attacks from inside."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from boundary.sandbox import (
    KilledReason,
    SandboxLimits,
    SandboxRequest,
    SandboxResult,
    control_groups,
    run_in_workdir,
)
from boundary.sandbox.slots import claim_slot

ROOT = Path(__file__).resolve().parents[2]
MB = 1024 * 1024
SECONDS = 30.0


@pytest.fixture(autouse=True)
def _sandbox(sandbox: None) -> None:
    """Every test here runs commands."""


@pytest.fixture
def own_scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Slots that no other test uses at the same time, so that the groups seen are those of the test."""
    with tempfile.TemporaryDirectory(prefix="ratchet-test-") as folder:
        Path(folder).chmod(0o711)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        yield


@pytest.fixture
def groups(own_scratch: None) -> control_groups.Controllers:
    """A machine where boxes have control groups; without one the test is skipped."""
    try:
        return control_groups.find_controllers()
    except control_groups.NoControlGroups as error:
        pytest.skip(str(error))


@pytest.fixture(params=["watched", "grouped"])
def with_and_without_groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with the kernel's limit on the whole box, once with what every machine has."""
    if request.param == "grouped":
        request.getfixturevalue("groups")
    else:
        hide_groups(monkeypatch)


def hide_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> control_groups.Controllers:
        raise control_groups.NoControlGroups("hidden by a test")

    monkeypatch.setattr(control_groups, "find_controllers", refuse)


def python(code: str, **more: Any) -> SandboxResult:
    return run_in_workdir(SandboxRequest(command=["python3", "-c", code], timeout=SECONDS, **more))


def in_thread(code: str, **more: Any) -> tuple[threading.Thread, list[SandboxResult]]:
    results: list[SandboxResult] = []
    thread = threading.Thread(target=lambda: results.append(python(code, **more)))
    thread.start()
    return thread, results


def folders(groups: control_groups.Controllers) -> list[Path]:
    return [folder for parent in groups.parents for folder in parent.glob(f"{control_groups.prefix()}*")]


def wait_until(ready: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 20
    while not ready():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


UNLINKED = """
import os, time
for i in range(100):
    file = os.open(str(i), os.O_RDWR | os.O_CREAT); os.unlink(str(i))
    for _ in range(18): os.write(file, bytes(1024**2))
time.sleep(60)
"""


@pytest.mark.usefixtures("with_and_without_groups")
def test_two_gigabytes_in_unlinked_open_files_end_at_the_cap() -> None:
    assert python(UNLINKED).killed_reason == KilledReason.DISK


SEMAPHORES = (
    "import ctypes; print(ctypes.CDLL(None, use_errno=True).semget(0, 32000, 0o1600), ctypes.get_errno())"
)


def test_kernel_semaphores_are_refused() -> None:
    assert python(SEMAPHORES).stdout.split()[0] == "-1"


SOCKETS = """
import contextlib, os, socket, time
with contextlib.suppress(OSError):
    for _ in range(5): os.fork()
kept = []
with contextlib.suppress(OSError):
    while True:
        pair = socket.socketpair(); kept += pair
        for one in pair:
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True: one.send(bytes(65536))
time.sleep(60)
"""


@pytest.mark.usefixtures("with_and_without_groups")
def test_gigabytes_in_socket_buffers_end_at_the_cap() -> None:
    result = python(SOCKETS, limits=SandboxLimits(memory_bytes=300 * MB))
    assert result.killed_reason == KilledReason.MEMORY


EMPTY_FILES = """
import os
number = 0
while True: os.mknod(f"/tmp/{'x' * 200}{number}"); number += 1
"""


@pytest.mark.usefixtures("with_and_without_groups")
def test_empty_files_in_tmp_are_counted() -> None:
    """They take none of its bytes, but a kilobyte of kernel memory each."""
    result = python(EMPTY_FILES, limits=SandboxLimits(disk_entries=2000))
    assert result.killed_reason == KilledReason.DISK


ALLOCATED = """
import ctypes, os
file = os.open("f", os.O_RDWR | os.O_CREAT)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.fallocate(file, 0, ctypes.c_long(0), ctypes.c_long(60 << 20)), os.strerror(ctypes.get_errno()))
os.posix_fallocate(file, 0, 1 << 20)
print(os.fstat(file).st_size)
"""


def test_disk_space_cannot_be_taken_faster_than_it_is_written() -> None:
    """In the time between two looks `fallocate` would take all there is; what only asks for space still gets it."""
    assert python(ALLOCATED).stdout.splitlines() == ["-1 Operation not supported", str(MB)]


FAST_WRITES = """
import os
os.mkdir("d")
for i in range(10_000): os.mknod(f"d/{i}")
for i in range(100):
    with open(str(i), "wb", buffering=0) as file:
        for _ in range(60): file.write(bytes(1024**2))
"""


def test_many_entries_do_not_give_time_to_fill_the_disk() -> None:
    """A slow look at the disk is followed by a long rest, unless the disk fills meanwhile."""
    result = python(FAST_WRITES, limits=SandboxLimits(disk_bytes=200 * MB))
    assert result.killed_reason == KilledReason.DISK


def test_kernel_memory_that_nothing_shows_counts_in_a_group(groups: control_groups.Controllers) -> None:
    """Names and inodes are no process's memory, no byte of a file and no socket."""
    limits = SandboxLimits(memory_bytes=100 * MB, tmp_bytes=MB, disk_entries=10**9)
    assert python(EMPTY_FILES, limits=limits).killed_reason == KilledReason.MEMORY


FORKS = """
import contextlib, os, time
made = 0
with contextlib.suppress(OSError):
    for made in range(200):
        if os.fork() == 0: time.sleep(60)
print(made, flush=True); os.kill(-1, 9)
"""


def test_a_group_limits_processes_even_where_their_user_has_no_limit(
    groups: control_groups.Controllers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boundary.sandbox import command

    monkeypatch.setattr(command, "resource_limits", lambda limits, own_user: ([], []))
    result = python(FORKS, limits=SandboxLimits(processes=20))
    assert 5 < int(result.stdout) < 20 + control_groups.OUR_PROCESSES


def test_a_group_lives_as_long_as_its_command(groups: control_groups.Controllers) -> None:
    before = folders(groups)
    thread, results = in_thread("import time; time.sleep(1.5)")
    wait_until(lambda: len(folders(groups)) > len(before))
    thread.join(SECONDS)
    assert results[0].exit_code == 0
    assert folders(groups) == before == []


def test_a_command_that_is_ended_leaves_no_group(groups: control_groups.Controllers) -> None:
    result = run_in_workdir(SandboxRequest(command="sleep 60 & sleep 60", timeout=0.3))
    assert result.timed_out
    assert folders(groups) == []


HOST = """
from django.conf import settings; settings.configure(SANDBOX='auto')
from boundary.sandbox import SandboxLimits, open_workdir
from boundary.sandbox.process import launch
with open_workdir() as box:
    print(box, flush=True)
    launch('touch started; sleep 60', workdir=box, timeout=60, limits=SandboxLimits())
"""


def test_the_group_of_a_killed_worker_goes_with_the_next_start(groups: control_groups.Controllers) -> None:
    with killed_host():
        assert folders(groups)
        assert run_in_workdir(SandboxRequest(command="true")).exit_code == 0
        assert folders(groups) == []


@contextlib.contextmanager
def killed_host() -> Iterator[None]:
    host = subprocess.Popen([sys.executable, "-c", HOST], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert host.stdout
    box = Path(host.stdout.readline().strip())
    wait_until((box / "started").exists)
    host.kill()
    host.wait()
    host.stdout.close()
    yield
    subprocess.run(["rm", "-rf", str(box)], check=True)


def test_the_group_of_a_slot_in_use_is_left_alone(groups: control_groups.Controllers) -> None:
    with claim_slot() as slot, control_groups.open_group(slot, SandboxLimits()) as group:
        assert group
        assert run_in_workdir(SandboxRequest(command="true")).exit_code == 0
        assert set(folders(groups)) == set(group.folders)
    assert folders(groups) == []


def test_no_descriptor_of_a_group_reaches_the_command(groups: control_groups.Controllers) -> None:
    result = run_in_workdir(SandboxRequest(command=["ls", "-l", "/proc/self/fd"]))
    assert len(result.stdout.splitlines()) == 1 + 4
    assert "cgroup" not in result.stdout


def test_without_groups_the_report_says_what_that_means(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_groups(monkeypatch)
    assert "hidden by a test" in control_groups.describe()
    assert "measured" in control_groups.describe()


def test_with_groups_the_report_names_them(groups: control_groups.Controllers) -> None:
    assert f"cgroup v{groups.version}" in control_groups.describe()


V2_MOUNTS = "30 23 0:26 / {mount} rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"


def unified(tmp_path: Path, own: str = "/system.slice/app", enabled: str = "cpu memory pids\n") -> Path:
    """Files as the kernel shows them to a process of a machine with cgroup v2."""
    mount = tmp_path / "cgroup"
    folder = mount / own.lstrip("/")
    folder.mkdir(parents=True)
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "mountinfo").write_text(V2_MOUNTS.format(mount=mount))
    (proc / "cgroup").write_text(f"0::{own}\n")
    for inner in (folder, *folder.parents):
        if inner.is_relative_to(mount):
            (inner / "cgroup.controllers").write_text("cpu memory pids\n")
            if inner != mount:
                (inner / "cgroup.type").write_text("domain\n")
            (inner / "cgroup.subtree_control").write_text("" if inner == folder else enabled)
    return proc


def test_version_2_groups_are_made_beside_the_group_of_this_process(tmp_path: Path) -> None:
    """The kernel allows no processes in a group that limits those below it."""
    found = control_groups.find_controllers(unified(tmp_path))
    assert (found.version, found.parents) == (2, (tmp_path / "cgroup/system.slice",))


def test_version_2_limits_are_switched_on_where_that_is_allowed(tmp_path: Path) -> None:
    found = control_groups.find_controllers(unified(tmp_path, enabled=""))
    assert (found.parents[0] / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_version_2_groups_of_a_process_at_the_root_are_made_there(tmp_path: Path) -> None:
    assert control_groups.find_controllers(unified(tmp_path, own="/")).parents == (tmp_path / "cgroup",)


def test_version_2_limits_memory_swap_and_processes(tmp_path: Path) -> None:
    found = control_groups.find_controllers(unified(tmp_path))
    group = control_groups.make_group(found, "x", SandboxLimits(memory_bytes=MB, tmp_bytes=0, processes=7))
    written = {path.name: path.read_text() for path in group.folders[0].iterdir()}
    assert written == {
        "memory.max": str(MB + control_groups.OUR_BYTES),
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "pids.max": str(7 + control_groups.OUR_PROCESSES),
    }


@pytest.mark.parametrize("events", ["oom 0\noom_kill 0\n", "oom 3\noom_kill 2\n"])
def test_version_2_knows_who_was_ended_for_memory(tmp_path: Path, events: str) -> None:
    (tmp_path / "memory.events").write_text(events)
    group = control_groups.Group(version=2, folders=(tmp_path,))
    assert group.ran_out_of_memory() is ("oom_kill 2" in events)


@pytest.mark.parametrize(
    "mounts", ["", "30 23 0:26 / /nowhere rw - tmpfs tmpfs rw\n", V2_MOUNTS.format(mount="/no/such")]
)
def test_a_machine_without_the_controllers_says_so(tmp_path: Path, mounts: str) -> None:
    (tmp_path / "mountinfo").write_text(mounts)
    (tmp_path / "cgroup").write_text("0::/\n")
    with pytest.raises(control_groups.NoControlGroups, match="memory and pids"):
        control_groups.find_controllers(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    proc = unified(tmp_path)
    (tmp_path / "cgroup/system.slice").chmod(0o555)
    with pytest.raises(control_groups.NoControlGroups, match="no permission"):
        control_groups.find_controllers(proc)
