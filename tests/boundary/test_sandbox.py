"""SECURITY.md cases 51-62, each tried for real."""

from __future__ import annotations

import contextlib
import os
import platform
import random
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boundary import limits
from boundary.errors import SandboxBroken, SandboxBusy, SandboxError, SandboxUnavailable
from boundary.sandbox import (
    KilledReason,
    SandboxLimits,
    SandboxRequest,
    SandboxResult,
    available,
    collect,
    mode,
    open_workdir,
    process,
    readiness,
    run_in_workdir,
    run_sandboxed,
    self_test,
    unavailable_reason,
)
from boundary.sandbox import command as command_module
from boundary.sandbox.process import launch
from boundary.sandbox.slots import claim_slot, scratch, slot_uid
from boundary.sandbox.workdirs import hand_over
from tests.boundary.servers import listen
from tests.boundary.test_sandbox_totals import hide_groups as hide_control_groups
from tests.needs import ROOT_USER

ROOT = Path(__file__).resolve().parents[2]
PATIENT = 120  # seconds, for what a loaded machine is slow at and no test is about
MB = 1024 * 1024
SLEEP = f"sleep {700_000 + os.getpid()}"  # long, and known to be of this run
LAUNCHES = int(os.environ.get("COPILOT_TEST_SANDBOX_LAUNCHES", "60"))  # 300 and more in the long form
as_root = ROOT_USER.skip_mark


def run(command: str | list[str], **more: Any) -> SandboxResult:
    return run_in_workdir(SandboxRequest(command=command, **more))


def python(code: str, **more: Any) -> SandboxResult:
    return run(["python3", "-c", code], **more)


def commands() -> Iterator[str]:
    """The command line of every process on this machine, those in boxes included."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")


def alive() -> bool:
    return any(SLEEP in line for line in commands())


@pytest.fixture(autouse=True)
def nothing_left_behind(sandbox: None) -> Iterator[None]:
    """Whatever a test did, when it has its result no process of its box lives on."""
    yield
    assert not alive()


def test_a_command_runs_and_its_output_comes_back() -> None:
    result = run("echo out; echo err >&2; exit 3")
    assert result == SandboxResult(exit_code=3, stdout="out\n", stderr="err\n")


def test_a_list_is_a_command_and_not_a_script() -> None:
    assert run(["echo", "$HOME; id"]).stdout == "$HOME; id\n"


def test_stdin_is_given_and_ended() -> None:
    assert run("wc -c", stdin=b"x" * 300_000).stdout.strip() == "300000"
    assert run("cat").stdout == ""
    assert run("exec 0<&-; sleep 0.2; echo done", stdin=b"x" * MB).stdout == "done\n"


def test_files_go_in_and_new_and_changed_ones_come_out() -> None:
    script = "cat a/in.txt; echo new > out.txt; echo changed > edit.txt; mkdir d; printf '\\0\\1' > d/b.bin"
    result = run(script, files={"a/in.txt": b"given", "edit.txt": b"before"})
    assert result.stdout == "given"
    assert {file.path: file.content for file in result.files} == {
        "out.txt": b"new\n",
        "edit.txt": b"changed\n",
        "d/b.bin": b"\0\1",
    }


def test_one_box_can_be_used_for_several_commands() -> None:
    with open_workdir() as box:
        run_sandboxed("echo 1 > a; chmod 700 a; mkdir -m 700 d; echo 2 > d/b", workdir=box)
        assert run_sandboxed("cat a d/b; echo 3 >> a; cat a", workdir=box).stdout == "1\n2\n1\n3\n"
    assert not box.exists()


def test_case_51_the_hosts_files_are_not_there(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cret")
    paths = [
        "/etc/passwd",
        "/etc/shadow",
        "/root",
        "/home",
        "/var",
        str(ROOT / "copilot_project"),
        str(secret),
        "/boot",
    ]
    result = run("; ".join(f"cat {path} 2>&1; ls -la {path} 2>&1" for path in paths))
    assert "s3cret" not in result.stdout and "root:x" not in result.stdout
    assert result.stdout.count("No such file or directory") == 2 * len(paths)


def test_case_51_neither_the_hosts_processes_nor_their_environment_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_SECRET", "s3cret")
    result = run(
        "cat /proc/1/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; ls /proc | grep -c '^[0-9]'"
    )
    assert "s3cret" not in result.stdout
    assert int(result.stdout.split()[-1]) < 12


def test_case_51_no_descriptor_of_the_host_leaks_in(tmp_path: Path) -> None:
    with (tmp_path / "open.txt").open("w") as leaked:
        os.set_inheritable(leaked.fileno(), True)
        result = run(["ls", "-l", "/proc/self/fd"])
    assert str(tmp_path) not in result.stdout
    assert len(result.stdout.splitlines()) == 1 + 4  # total; 0, 1, 2 and the listing's own


def test_case_51_no_command_line_shows_where_the_box_is_on_the_host() -> None:
    """Neither to other people on the host nor to the command itself."""
    seen: list[str] = []

    def look() -> bool:
        seen.extend(commands())
        return False

    with open_workdir() as box:
        result = launch(
            "cat /proc/[0-9]*/cmdline; sleep 0.5",
            workdir=box,
            timeout=PATIENT,
            limits=SandboxLimits(),
            cancelled=look,
        )
    assert any("sleep 0.5" in line for line in seen)
    for place in (str(box), str(scratch())):
        assert place not in result.stdout
        assert not [line for line in seen if place in line]


def test_case_51_the_mount_table_names_the_box_but_nothing_of_the_product() -> None:
    """The kernel shows where a mount comes from; that is the box's random folder and what is read-only."""
    with open_workdir() as box:
        found = launch(
            "cat /proc/self/mountinfo", workdir=box, timeout=PATIENT, limits=SandboxLimits()
        ).stdout
    sources = {line.split()[3] for line in found.splitlines()}
    mine = {source for source in sources if source.endswith(f"/boxes/{box.name}")}
    assert len(mine) == 1
    assert all(
        source.startswith(("/usr", "/etc/alternatives", "/bin", "/sbin", "/lib"))
        for source in sources - mine - {"/", "/newroot", *devices(found)}
    )
    assert str(ROOT) not in found


def devices(mountinfo: str) -> set[str]:
    return {line.split()[3] for line in mountinfo.splitlines() if line.split()[4].startswith("/dev/")}


def test_case_52_no_network_can_be_reached() -> None:
    with listen() as listener:
        code = f"""
import socket
for host, port in (("127.0.0.1", {listener.getsockname()[1]}), ("169.254.169.254", 80), ("1.1.1.1", 53), ("::1", 80)):
    try:
        socket.create_connection((host, port), 2); print("REACHED", host)
    except OSError as error:
        print(type(error).__name__)
try:
    socket.getaddrinfo("example.com", 80); print("REACHED dns")
except OSError:
    pass
"""
        result = python(code)
    assert "REACHED" not in result.stdout
    assert len(result.stdout.split()) == 4, result


def test_case_52_the_hosts_virtual_machine_sockets_are_closed() -> None:
    """Network namespaces do not hold AF_VSOCK; the filter does. Nor the other odd families."""
    result = python(
        "import socket\nfor family in (40, 38, 17, 15, 4, 31, 63, 64, 2**20):\n"
        " try: socket.socket(family, 2); print(family)\n"
        " except OSError as error: print(error.errno)"
    )
    assert set(result.stdout.split()) <= {"97", "1"}, result


def test_case_53_a_fork_bomb_stops_at_the_cap() -> None:
    code = """
import os, time
count = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(20); os._exit(0)
        count += 1
except OSError as error:
    print(error.errno, count)
"""
    error, count = python(code, timeout=PATIENT).stdout.split()
    assert (error, int(count) < limits.SANDBOX_PROCESSES) == ("11", True)


def test_case_53_the_classic_fork_bomb_ends_at_the_time_cap() -> None:
    result = run(":(){ :|:& };:; wait; sleep 20", timeout=1.0)
    assert result.timed_out or result.exit_code != 0


def test_case_54_four_gigabytes_are_refused() -> None:
    result = python("x = bytearray(4 * 1024**3); print('GOT IT')")
    assert result.exit_code != 0
    assert "MemoryError" in result.stderr


def test_case_54_many_processes_together_get_no_more_than_one() -> None:
    code = (
        "import os, time\nfor _ in range(6): os.fork()\nx = bytearray(b'x') * (40 * 1024**2); time.sleep(20)"
    )
    small = SandboxLimits(memory_bytes=300 * MB)
    assert python(code, timeout=PATIENT, limits=small).killed_reason == KilledReason.MEMORY


def test_case_54_shared_memory_counts_and_unnamed_memory_files_are_refused() -> None:
    shared = "import mmap, time\nm = mmap.mmap(-1, 200 * 1024**2); m.write(b'x' * len(m)); time.sleep(20)"
    result = python(shared, timeout=PATIENT, limits=SandboxLimits(memory_bytes=150 * MB))
    assert result.killed_reason == KilledReason.MEMORY or "Cannot allocate" in result.stderr
    assert "PermissionError" in python("import os; os.memfd_create('x')").stderr
    assert "No space left" in run("head -c 10M /dev/zero > /dev/shm/x").stderr


@pytest.mark.parametrize(
    "script",
    ["while :; do :; done", SLEEP, f"{SLEEP} & {SLEEP} & wait", f"setsid {SLEEP} & disown; {SLEEP}"],
    ids=["busy", "asleep", "children", "own session"],
)
def test_case_55_what_does_not_end_is_ended_with_its_whole_tree(script: str) -> None:
    result = run(script, timeout=0.5)
    assert (result.timed_out, result.killed_reason) == (True, KilledReason.TIMEOUT)


def test_case_55_processor_time_is_capped_too() -> None:
    result = run("while :; do :; done", limits=SandboxLimits(cpu_seconds=1), timeout=60)
    assert (result.killed_reason, result.timed_out) == (KilledReason.LIMIT, False)


def test_case_55_what_hides_in_the_background_ends_with_its_command() -> None:
    script = f"trap '' TERM HUP; (setsid nohup {SLEEP} >/dev/null 2>&1 &) ; echo started"
    assert run(script).stdout == "started\n"


def test_case_55_a_cancelled_command_ends_at_once() -> None:
    cancel = threading.Event()
    timer = threading.Timer(0.3, cancel.set)
    timer.start()
    result = run_in_workdir(SandboxRequest(command=SLEEP, timeout=60), cancelled=cancel.is_set)
    timer.join()
    assert result.killed_reason == KilledReason.CANCELLED


def test_case_56_one_file_stops_at_its_cap() -> None:
    result = run("head -c 10G /dev/zero > big; stat -c %s big")
    assert int(result.stdout) <= limits.SANDBOX_FILE_BYTES


def test_case_56_many_files_together_stop_at_the_cap() -> None:
    small = SandboxLimits(disk_bytes=20 * MB, file_bytes=5 * MB)
    result = run(
        "for i in $(seq 2000); do head -c 5M /dev/zero > f$i; done; echo finished", limits=small, timeout=60
    )
    assert result.killed_reason == KilledReason.DISK
    assert "finished" not in result.stdout


def test_case_56_so_do_many_empty_files_and_deep_folders() -> None:
    small = SandboxLimits(disk_entries=200)
    endless = "i=0; while :; do : > f$i; i=$((i+1)); done"
    assert run(endless, limits=small, timeout=60).killed_reason == KilledReason.DISK
    deep = "while :; do mkdir d; cd d || exit; done"
    assert run(deep, timeout=60).killed_reason == KilledReason.DISK


UNLINKED = """
import mmap, os, time
kept = []
for i in range(8):
    descriptor = os.open(str(i), os.O_RDWR | os.O_CREAT); os.unlink(str(i))
    for _ in range(5): os.write(descriptor, bytes(1024**2))
    kept.append(mmap.mmap(descriptor, 0) if {mapped} else descriptor)
    if {mapped}: os.close(descriptor)
time.sleep(20)
"""


@pytest.mark.parametrize("mapped", [False, True])
def test_case_56_files_without_a_name_count_while_they_are_open(mapped: bool) -> None:
    small = SandboxLimits(disk_bytes=20 * MB, file_bytes=6 * MB)
    result = python(UNLINKED.format(mapped=mapped), limits=small, timeout=PATIENT)
    assert result.killed_reason == KilledReason.DISK


def test_case_54_what_waits_in_unix_sockets_counts() -> None:
    code = """
import os, socket, time
for _ in range(4): os.fork()
kept = [socket.socketpair() for _ in range(50)]
time.sleep(20)
"""
    small = SandboxLimits(memory_bytes=250 * MB)
    assert python(code, limits=small, timeout=PATIENT).killed_reason == KilledReason.MEMORY


def test_case_54_the_buffer_of_a_socket_keeps_its_size() -> None:
    code = """
import socket
one, _ = socket.socketpair()
for option in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):
    one.setsockopt(socket.SOL_SOCKET, option, 10_000_000)
one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
print(*(one.getsockopt(socket.SOL_SOCKET, option) for option in (socket.SO_SNDBUF, socket.SO_RCVBUF)))
"""
    default = Path("/proc/sys/net/core/wmem_default").read_text().strip()
    assert default in python(code).stdout.split()


def test_case_54_what_waits_in_network_sockets_counts() -> None:
    code = """
import contextlib, socket, time
server = socket.create_server(("127.0.0.1", 0), backlog=50)
kept = []
for _ in range(50):
    kept.append(socket.create_connection(server.getsockname())); kept.append(server.accept()[0])
while True:
    for one in kept:
        one.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while one.send(bytes(65536)): pass
    time.sleep(0.01)
"""
    small = SandboxLimits(memory_bytes=100 * MB)
    assert python(code, limits=small, timeout=PATIENT).killed_reason == KilledReason.MEMORY


def test_case_54_a_few_sockets_disturb_nobody() -> None:
    code = "import socket; kept = [socket.socketpair() for _ in range(40)]; print(len(kept))"
    assert python(code).stdout == "40\n"


def test_case_56_nothing_outside_the_box_and_tmp_can_be_written() -> None:
    result = run(
        "for d in / /usr /usr/bin /etc /dev /proc /proc/sys/kernel /bin /lib; do touch $d/x && echo $d; done; ls /"
    )
    assert not any(line.startswith("/") for line in result.stdout.splitlines())
    assert "No space left" in run("head -c 70M /dev/zero | split -b 10M - /tmp/x").stderr


@pytest.mark.parametrize(
    "script",
    [
        "unshare -Ur id",
        "unshare -n id",
        "mount -t tmpfs x /tmp",
        "umount /tmp",
        "chroot / id",
        "nsenter -t 1 -m id",
    ],
)
def test_case_57_namespaces_and_mounts_are_refused(script: str) -> None:
    result = run(script)
    assert result.exit_code != 0
    assert "uid=" not in result.stdout


CALLS = {
    "x86_64": {
        "ptrace": 101,
        "keyctl": 250,
        "add_key": 248,
        "bpf": 321,
        "io_uring_setup": 425,
        "unshare": 272,
    }
    | {
        "userfaultfd": 323,
        "perf_event_open": 298,
        "process_vm_readv": 310,
        "open_by_handle_at": 304,
        "setns": 308,
    }
    | {"mount": 165, "pivot_root": 155, "memfd_create": 319, "init_module": 175, "fsopen": 430}
    | {"shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240},
    "aarch64": {
        "ptrace": 117,
        "keyctl": 219,
        "add_key": 217,
        "bpf": 280,
        "io_uring_setup": 425,
        "unshare": 97,
    }
    | {
        "userfaultfd": 282,
        "perf_event_open": 241,
        "process_vm_readv": 270,
        "open_by_handle_at": 265,
        "setns": 268,
    }
    | {"mount": 40, "pivot_root": 41, "memfd_create": 279, "init_module": 105, "fsopen": 430}
    | {"shmget": 194, "semget": 190, "msgget": 186, "mq_open": 180},
}[platform.machine()]


def test_case_57_dangerous_system_calls_answer_eperm() -> None:
    code = (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True)\n"
        f"for name, number in {CALLS!r}.items():\n"
        " ctypes.set_errno(0); r = c.syscall(number, 0, 0, 0, 0, 0); print(name, r, ctypes.get_errno())"
    )
    answers = {line.split()[0]: line.split()[1:] for line in python(code).stdout.splitlines()}
    assert answers == {name: ["-1", "1"] for name in CALLS}


def test_case_57_clone_makes_threads_but_no_namespaces() -> None:
    number = {"x86_64": (56, 435), "aarch64": (220, 435)}[platform.machine()]
    code = (
        "import ctypes, threading; c = ctypes.CDLL(None, use_errno=True)\n"
        "for flags in (0x10000000, 0x20000, 0x40000000):\n"
        f" print(c.syscall({number[0]}, flags | 17, 0, 0, 0, 0), ctypes.get_errno())\n"
        f"print(c.syscall({number[1]}, 0, 0), ctypes.get_errno())\n"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()"
    )
    assert python(code).stdout.split() == ["-1", "1"] * 3 + ["-1", "38", "thread"]


@as_root
def test_case_57_the_host_sees_another_user_than_root() -> None:
    with open_workdir() as box:
        result = run_sandboxed("id -u; touch made", workdir=box)
        assert (box / "made").stat().st_uid == int(result.stdout) >= 60_000


def test_case_58_links_devices_and_pipes_are_never_opened(tmp_path: Path) -> None:
    secret = tmp_path / "root-only.txt"
    secret.write_text("s3cret")
    secret.chmod(0o600)
    script = (
        f"ln -s {secret} link; ln -s /etc/passwd passwd; ln -s / folder; mkfifo pipe; echo ok > good; ln good hard; "
        "mknod device c 1 3; mkdir sub; ln -s ../.. sub/up; python3 -c 'import socket; socket.socket(1).bind(\"sock\")'"
    )
    result = run(script)
    assert [file.path for file in result.files] == []
    assert set(result.files_left_out) == {
        "link",
        "passwd",
        "folder",
        "pipe",
        "good",
        "hard",
        "sub/up",
        "sock",
    }
    assert "s3cret" not in repr(result)


def test_case_58_a_link_put_in_place_of_an_input_is_not_followed_by_the_next_run(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("mine")
    before = target.stat()
    with open_workdir() as box:
        run_sandboxed(f"ln -s {target} link; ln -s {tmp_path} folder", workdir=box)
        run_sandboxed("true", workdir=box)
        assert collect(box, {}).files == []
    assert (target.stat().st_uid, target.stat().st_mode) == (before.st_uid, before.st_mode)


def test_case_58_what_is_too_large_or_too_much_is_named_and_left() -> None:
    with open_workdir() as box:
        run_sandboxed("head -c 2000 /dev/zero > big; for i in 1 2 3 4; do echo $i > s$i; done", workdir=box)
        found = collect(box, {}, max_files=3, max_bytes=1000)
    assert [file.path for file in found.files] == ["s1", "s2", "s3"]
    assert found.left_out == ["big", "s4"]


def test_case_58_strange_names_are_shown_as_text() -> None:
    result = run("printf x > $'\\xff\\xfe'; printf y > 'a b'")
    assert {file.path for file in result.files} == {"\ufffd\ufffd", "a b"}


def test_case_59_a_gigabyte_of_output_is_cut_without_blocking() -> None:
    result = run("head -c 1G /dev/zero; head -c 1M /dev/zero >&2; echo done > flag", timeout=60)
    assert (len(result.stdout), len(result.stderr)) == (
        limits.SANDBOX_OUTPUT_BYTES,
        limits.SANDBOX_OUTPUT_BYTES,
    )
    assert (result.truncated, result.exit_code) == (True, 0)
    assert [file.path for file in result.files] == ["flag"]


def test_case_60_the_environment_is_path_and_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    assert python("import os; print(sorted(os.environ))").stdout.strip() in (
        "['HOME', 'PATH']",
        "['HOME', 'LC_CTYPE', 'PATH']",
    )


def test_case_61_no_terminal_can_be_typed_into() -> None:
    code = (
        "import fcntl, os\n"
        "try: fcntl.ioctl(0, 0x5412, b'x'); print('TYPED')\n"
        "except OSError as error: print(error.errno)\n"
        "print(os.getsid(0) == os.getpid() or os.getsid(0) > 0)\n"
        "try: os.open('/dev/tty', os.O_RDWR); print('TTY')\n"
        "except OSError as error: print('none')"
    )
    assert python(code).stdout.split() == ["1", "True", "none"]


def test_case_62_without_the_program_nothing_is_offered_and_the_reason_is_clear(
    monkeypatch: pytest.MonkeyPatch, fresh_self_test: object
) -> None:
    monkeypatch.setattr(
        shutil,
        "which",
        lambda name, path=None: None if name == "bwrap" else f"/usr/bin/{name}",
    )
    assert "bubblewrap" in unavailable_reason()
    assert not available()
    with pytest.raises(SandboxUnavailable, match="bubblewrap"):
        run("touch /tmp/must-not-happen")
    assert not Path("/tmp/must-not-happen").exists()


@pytest.mark.parametrize(
    ("word", "expected"),
    [("off", "off"), ("OFF", "off"), ("nonsense", "off"), ("bwrap", "bwrap"), ("auto", "auto")],
)
def test_case_62_the_operator_switches_it_off(settings: Any, word: str, expected: str) -> None:
    settings.SANDBOX = word
    assert mode() == expected
    if expected == "off":
        assert not available()
        assert "switched off" in unavailable_reason()
        with pytest.raises(SandboxUnavailable):
            run("true")


def test_the_self_test_passes_here_and_runs_once() -> None:
    report = self_test()
    assert report.passed, report.reason
    assert self_test() is report
    assert {check.name for check in report.checks} == {
        "files",
        "network",
        "processes",
        "memory",
        "time",
        "disk",
        "kernel",
    }
    assert (available(), unavailable_reason()) == (True, "")


SABOTAGE = {
    "files": lambda line: [*line, "--ro-bind", "/etc", "/etc"] if "--bind" in line else line,
    "network": lambda line: [*line, "--share-net"] if "--unshare-all" in line else line,
    "kernel": lambda line: (
        [part for part in line if part != "--disable-userns"] + ["--cap-add", "CAP_SYS_ADMIN"]
        if "--unshare-all" in line
        else line
    ),
}


@pytest.mark.parametrize(
    ("probe", "name"), [(readiness.probe_secrets, "files"), (readiness.probe_network, "network")]
)
def test_the_self_test_notices_a_sandbox_with_a_hole(
    monkeypatch: pytest.MonkeyPatch, probe: Any, name: str
) -> None:
    if name == "network" and {interface for _, interface in socket.if_nameindex()} <= {"lo"}:
        pytest.skip("needs a network interface: without one the hole leads nowhere")
    isolation, filesystem = command_module.isolation, command_module.filesystem
    monkeypatch.setattr(command_module, "isolation", lambda: SABOTAGE[name](isolation()))
    monkeypatch.setattr(
        command_module, "filesystem", lambda box, caps: SABOTAGE[name](filesystem(box, caps))[:]
    )
    found = probe()
    assert not found.passed
    assert found.detail


def test_the_self_test_notices_a_missing_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_all = b"\x06\x00\x00\x00\x00\x00\xff\x7f"  # one instruction: return ALLOW
    monkeypatch.setattr("boundary.sandbox.process.seccomp_filter", lambda: allow_all)
    assert not readiness.probe_kernel().passed


def test_the_self_test_notices_missing_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_control_groups(monkeypatch)  # they limit processes too
    monkeypatch.setattr(command_module, "resource_limits", lambda caps, own_user: ([], []))
    assert not readiness.probe_processes().passed
    assert not readiness.probe_disk().passed


@pytest.mark.parametrize("command", ["", [], ["no-such-program"], "exit 7", ["a\0b"], "x" * 3_000_000])
def test_a_command_that_cannot_run_says_so(command: str | list[str]) -> None:
    try:
        result = run(command)
    except SandboxError as error:
        assert str(error)
    else:
        assert result.exit_code in (7, 127)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", "a\0b"])
def test_files_cannot_be_put_outside_the_box(name: str) -> None:
    with pytest.raises((SandboxBroken, ValueError)):
        run("true", files={name: b"x"})


def test_too_much_input_is_refused() -> None:
    with pytest.raises(SandboxError):
        run("true", stdin=b"x" * (limits.SANDBOX_STDIN_BYTES + 1))


def test_every_box_at_once_has_a_slot_of_its_own() -> None:
    with claim_slot() as first, claim_slot() as second:
        assert first != second
        if os.geteuid() == 0:
            assert slot_uid(first) == 60_000 + first


def test_no_free_slot_is_busy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(limits, "SANDBOX_SLOTS", 1)
    monkeypatch.setattr(limits, "SANDBOX_SLOT_WAIT_SECONDS", 0.1)
    with claim_slot(), pytest.raises(SandboxBusy), claim_slot():
        pass
    with claim_slot() as free:
        assert free == 0


def test_one_person_cannot_take_all_slots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(limits, "SANDBOX_SLOTS", 4)
    monkeypatch.setattr(limits, "SANDBOX_SLOTS_PER_USER", 2)
    monkeypatch.setattr(limits, "SANDBOX_SLOT_WAIT_SECONDS", 0.1)
    with claim_slot("ada"), claim_slot("ada"):
        with pytest.raises(SandboxBusy), claim_slot("ada"):
            pass
        with claim_slot("bob"), claim_slot():
            pass
    with claim_slot("ada"):
        pass


def test_a_person_who_cancels_does_not_wait_for_a_slot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(limits, "SANDBOX_SLOTS", 1)
    with claim_slot(), pytest.raises(SandboxBusy), claim_slot("ada", cancelled=lambda: True):
        pass


def test_a_scratch_folder_of_somebody_else_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    scratch().chmod(0o777)
    with pytest.raises(SandboxBroken):
        scratch()


def test_boxes_that_run_side_by_side_do_not_see_each_other() -> None:
    results: dict[int, SandboxResult] = {}

    def work(number: int) -> None:
        results[number] = run(f"echo {number} > mine; sleep 0.3; cat *; ps -e 2>/dev/null | wc -l")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {number: result.stdout.split()[0] for number, result in results.items()} == {
        n: str(n) for n in range(4)
    }


def test_a_box_with_locked_folders_is_still_removed() -> None:
    with open_workdir() as box:
        run_sandboxed("mkdir -p a/b/c; touch a/b/c/f; chmod 000 a/b/c a/b a", workdir=box)
    assert not box.exists()


def test_boxes_that_killed_hosts_left_are_swept_and_those_in_use_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(limits, "STALE_BOX_SECONDS", -1.0)
    with open_workdir() as used:
        left = used.parent / "left"
        (left / "folder").mkdir(parents=True)
        with open_workdir():
            assert used.exists()
            assert not left.exists()


def test_a_killed_host_process_takes_its_box_along(tmp_path: Path) -> None:
    """The worker dies with -9; the command must not go on without it."""
    code = (
        "import django; from django.conf import settings; settings.configure(SANDBOX='auto')\n"
        "from boundary.sandbox.process import launch\nfrom boundary.sandbox import open_workdir, SandboxLimits\n"
        "with open_workdir() as box:\n print(box, flush=True)\n"
        f" launch('touch started; exec {SLEEP}', workdir=box, timeout=60, limits=SandboxLimits())"
    )
    worker = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert worker.stdout
    box = Path(worker.stdout.readline().strip())
    wait_until((box / "started").exists)
    worker.kill()
    worker.wait()
    worker.stdout.close()
    wait_until(lambda: not alive())
    subprocess.run(["rm", "-rf", str(box)], check=True)


def test_a_command_that_is_ended_while_it_starts_leaves_nothing_behind() -> None:
    """At any moment of its start, that between the birth of the box's first process and its naming included."""
    moments = random.Random(51)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(LAUNCHES):
        with open_workdir() as box:
            result = launch(
                f"exec {SLEEP}", workdir=box, timeout=moments.uniform(0, 0.04), limits=SandboxLimits()
            )
        assert result.killed_reason == KilledReason.TIMEOUT
        assert not alive()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_command_whose_launcher_is_killed_while_it_starts_is_ended_too() -> None:
    """bubblewrap dies by another hand: its child, which nobody else knows of, is still found."""
    with contextlib.ExitStack() as cleanup:
        box = cleanup.enter_context(open_workdir())
        for _ in range(LAUNCHES // 10):
            with contextlib.ExitStack() as pipes:
                run = start_in(box, f"exec {SLEEP}", pipes)
                time.sleep(random.uniform(0, 0.02))
                run.process.kill()
                run.end()
            assert not alive()


def start_in(box: Path, script: str, cleanup: contextlib.ExitStack) -> process.SandboxProcess:
    bounds = SandboxLimits(cpu_seconds=5)
    uid = slot_uid(0)
    hand_over(box, uid)
    argv = ["/bin/bash", "-c", script]
    return process.start(argv, workdir=box, uid=uid, stdin=b"", limits=bounds, cleanup=cleanup)


def wait_until(ready: Any) -> None:
    deadline = time.monotonic() + 20
    while not ready():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@as_root
def test_an_ordinary_user_gets_the_same_box() -> None:
    """Without root there are no slot users; the number of processes is then counted in the box's own namespace."""
    site = next(path for path in sys.path if path.endswith("site-packages"))
    script = (
        "from django.conf import settings; settings.configure(SANDBOX='auto')\n"
        "import os; from boundary.sandbox import run_in_workdir, SandboxRequest, self_test\n"
        "print(os.geteuid(), self_test().passed, self_test().reason)\n"
        "r = run_in_workdir(SandboxRequest(command='id -u; echo x > f'))\n"
        "print(r.stdout.strip(), r.exit_code, r.killed_reason, [f.path for f in r.files])"
    )
    user = [
        "setpriv",
        "--reuid=65533",
        "--regid=65533",
        "--clear-groups",
        "--no-new-privs",
        "env",
        "-i",
        "PATH=/usr/bin:/bin",
    ]
    user += [f"PYTHONPATH={ROOT}:{site}", "PYTHONDONTWRITEBYTECODE=1"]
    interpreter = next((p for p in (sys.executable, "/usr/bin/python3") if can_import(user, p)), None)
    if interpreter is None:
        pytest.skip("no interpreter that an ordinary user may start")
    done = subprocess.run([*user, interpreter, "-c", script], capture_output=True, text=True, timeout=120)
    lines = [line for line in done.stdout.splitlines() if line.startswith("65533")]
    assert lines == ["65533 True ", "65533 0 None ['f']"], done


def can_import(user: list[str], interpreter: str) -> bool:
    done = subprocess.run(
        [*user, interpreter, "-c", "import django, structlog"], capture_output=True, timeout=60
    )
    return done.returncode == 0


def test_the_scratch_folder_cannot_be_listed_by_others() -> None:
    with open_workdir() as box:
        assert stat.S_IMODE(scratch().stat().st_mode) == 0o711
        assert stat.S_IMODE(box.stat().st_mode) == 0o700
