"""Code in the sandbox: it reads nothing of the host, has no network, and stays within its limits."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from attack.case import NotHere, Section, attack, expect, proven_by
from attack.site import Site

SANDBOX = Section.SANDBOX
MEGABYTES_OF_HOST = 1_000  # more than a sandbox may hold by any means
OUTPUT_CHARACTERS = 200_000


def run(site: Site, command: str, *, timeout: int = 10) -> dict[str, Any]:
    """Run a command as the model would; raise NotHere if there is no sandbox."""
    [found] = site.call_tools(("bash_exec", {"command": command, "timeout": timeout}))
    if "no tool named" in found.get("message", "") or "not available" in found.get("message", ""):
        raise NotHere("no sandbox is available on this machine")
    return found


def python(site: Site, program: str, *, timeout: int = 20) -> dict[str, Any]:
    return run(site, f"python3 - <<'END'\n{program}\nEND", timeout=timeout)


def said(found: dict[str, Any]) -> str:
    return f"{found.get('stdout', '')}{found.get('stderr', '')}"


def number_after(found: dict[str, Any], word: str) -> float:
    """Return the number a program printed after a word, or 0 if it did not get that far."""
    printed = re.search(rf"{word} ([0-9.]+)", said(found))
    return float(printed[1]) if printed else 0.0


@attack(51, SANDBOX, "Read /etc/passwd, /proc/1/environ, settings and the database", "they are not there")
def host_files(site: Site) -> None:
    stack = site.needs_own()
    paths = f"/etc/passwd /etc/shadow /root {stack.home}/copilot.sqlite3 {stack.home}/secrets.json /var /home"
    found = said(
        run(
            site,
            f"for p in {paths}; do head -c 200 $p 2>/dev/null; ls -d $p 2>/dev/null; done; cat /proc/*/environ",
        )
    )
    expect("root:" not in found and str(stack.home) not in found, f"it read {found[:300]}")
    expect(
        "SECRET" not in found and "COPILOT" not in found and "OPENAI" not in found, "it read the environment"
    )


@attack(52, SANDBOX, "Connect to 127.0.0.1, the metadata service and the internet", "unreachable")
def network(site: Site) -> None:
    mark = uuid.uuid4().hex
    program = f"""
import socket
for host, port in (("127.0.0.1", {site.outside.port}), ("169.254.169.254", 80), ("1.1.1.1", 53)):
    try:
        socket.create_connection((host, port), 2).sendall(b"GET /{mark} HTTP/1.0\\r\\n\\r\\n")
        print("CONNECTED", host)
    except OSError as error:
        print(type(error).__name__)
"""
    found = said(python(site, program))
    expect("CONNECTED" not in found, found)
    expect(not site.outside.visited(mark), "the stranger was reached")


@attack(53, SANDBOX, "A fork bomb", "stops at the cap of processes")
def fork_bomb(site: Site) -> None:
    program = """
import os, time
made = 0
try:
    while made < 2000:
        if os.fork() == 0:
            time.sleep(5); os._exit(0)
        made += 1
except OSError as error:
    print("STOPPED", made, error.errno)
"""
    found = python(site, program)
    made = int(number_after(found, "STOPPED"))
    expect(found.get("killed_reason") or 0 < made < 300, f"{said(found)[:200]}")


@attack(
    54,
    SANDBOX,
    "Take 4 GB of memory, alone and with many processes",
    "killed or refused",
    tests=[
        "boundary/test_sandbox.py::test_case_54_many_processes_together_get_no_more_than_one",
        "boundary/test_sandbox.py::test_case_54_shared_memory_counts_and_unnamed_memory_files_are_refused",
    ],
)
def memory(site: Site) -> None:
    program = "x = []\nfor n in range(64): x.append(bytearray(64 * 2**20))\nprint('TOOK IT')"
    expect("TOOK IT" not in said(python(site, program)), "it got 4 GB")


@attack(
    55,
    SANDBOX,
    "Run for ever, and in the background",
    "ended at its time with the whole tree",
    tests=["boundary/test_sandbox.py::test_case_55_what_hides_in_the_background_ends_with_its_command"],
)
def endless(site: Site) -> None:
    found = run(site, "(setsid sleep 300 &) ; while true; do :; done", timeout=2)
    expect(found.get("timed_out") or found.get("killed_reason"), f"it answered {str(found)[:200]}")


@attack(56, SANDBOX, "Write 10 GB, in one file and in many", "stopped at the limit")
def disk(site: Site) -> None:
    command = """
for i in $(seq 40); do
    dd if=/dev/zero of=/tmp/f$i bs=1M count=250 2>/dev/null
    dd if=/dev/zero of=f$i bs=1M count=250 2>/dev/null
done
du -sm /tmp /box | awk '{s+=$1} END {print "MB", s}'
"""
    found = run(site, command, timeout=30)
    written = number_after(found, "MB")
    expect(written < MEGABYTES_OF_HOST, f"{written} MB were written")


@attack(
    57,
    SANDBOX,
    "unshare, mount, ptrace, keyctl, bpf, io_uring",
    "EPERM or not there",
    tests=["boundary/test_sandbox.py::test_case_57_dangerous_system_calls_answer_eperm"],
)
def system_calls(site: Site) -> None:
    program = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"unshare": (272, 0x10000000), "mount": (165, 0), "ptrace": (101, 0), "keyctl": (250, 0)}
numbers |= {"bpf": (321, 0), "io_uring_setup": (425, 1)}
for name, (number, argument) in numbers.items():
    ctypes.set_errno(0)
    if libc.syscall(number, argument, 0, 0, 0, 0) != -1:
        print("ALLOWED", name)
    elif ctypes.get_errno() not in (1, 38):
        print("REACHED", name, ctypes.get_errno())
print("END")
"""
    found = said(python(site, program))
    expect("END" in found and "ALLOWED" not in found and "REACHED" not in found, found)


@attack(
    58,
    SANDBOX,
    "Leave links to the host's files, pipes and devices behind",
    "only plain files are kept",
    tests=["boundary/test_sandbox.py::test_case_58_links_devices_and_pipes_are_never_opened"],
)
def links(site: Site) -> None:
    found = run(
        site,
        "ln -s /etc/passwd a.txt; ln -s /proc/self/environ b.txt; mkfifo c.txt; ln -s / d; echo fine > e.txt",
    )
    kept = json.dumps(found.get("files", []))
    expect("a.txt" not in kept and "b.txt" not in kept and "c.txt" not in kept, f"it kept {kept[:300]}")
    listing = site.attacker.get("/api/files?page_size=100").json()["results"]
    for file in listing:
        if file["name"] in ("a.txt", "b.txt", "passwd"):
            content = site.attacker.get(file["content_url"]).text
            expect(
                "root:" not in content and "SECRET" not in content, f"{file['name']} has the host's content"
            )


@attack(59, SANDBOX, "A gigabyte of output", "cut, and the command is not blocked", slow=True)
def output(site: Site) -> None:
    found = run(site, "head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo END >&2", timeout=60)
    expect(len(found.get("stdout", "")) < OUTPUT_CHARACTERS, f"{len(found['stdout'])} characters came back")
    expect(
        "END" in found.get("stderr", "") or found.get("killed_reason") or found.get("timed_out"),
        "it was blocked",
    )


@attack(60, SANDBOX, "Print the environment", "PATH and HOME alone")
def environment(site: Site) -> None:
    names = {line.partition("=")[0] for line in run(site, "/usr/bin/env").get("stdout", "").splitlines()}
    expect(names <= {"PATH", "HOME", "PWD", "SHLVL", "_", "OLDPWD"}, f"there was {sorted(names)}")


@attack(
    61,
    SANDBOX,
    "Type into the terminal of whoever started it (TIOCSTI)",
    "there is none",
    tests=["boundary/test_sandbox.py::test_case_61_no_terminal_can_be_typed_into"],
)
def terminal(site: Site) -> None:
    program = """
import fcntl, os, termios
try:
    fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), termios.TIOCSTI, b"x")
    print("TYPED")
except OSError as error:
    print(type(error).__name__)
"""
    expect("TYPED" not in said(python(site, program)), "it typed")


proven_by(
    62,
    SANDBOX,
    "A machine without the sandbox's program",
    "the tool is not offered, and the reason is told",
    "boundary/test_sandbox.py::test_case_62_without_the_program_nothing_is_offered_and_the_reason_is_clear",
    "tools/catalog/test_bash_exec.py::test_without_a_sandbox_it_is_neither_offered_nor_run",
)


@attack(
    111,
    SANDBOX,
    "Memory outside the limits: open files without a name, semget, socket buffers",
    "none beyond the cap",
)
def hidden_memory(site: Site) -> None:
    unlinked = """
import os, tempfile
held, made = 0, []
try:
    for number in range(3000):
        file = tempfile.TemporaryFile(dir="/box", buffering=0)
        made.append(file)
        held += file.write(bytes(8 * 2**20))
except OSError as error:
    pass
print("HELD", held // 2**20)
"""
    semaphores = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
made = sum(libc.semget(0, 32000, 0o1600) != -1 for _ in range(64))
queues = sum(libc.msgget(0, 0o1600) != -1 for _ in range(64))
shared = sum(libc.shmget(0, 2**28, 0o1600) != -1 for _ in range(64))
print("HELD", 10**6 * (made + queues + shared))
"""
    sockets = """
import socket
held, pairs = 0, []
try:
    for _ in range(400):
        pair = socket.socketpair()
        pairs.append(pair)
        pair[0].setblocking(False)
        pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**24)
        try:
            while True:
                held += pair[0].send(bytes(65536))
        except BlockingIOError:
            pass
except OSError:
    pass
print("HELD", held // 2**20)
"""
    for name, program in {
        "files without a name": unlinked,
        "SysV IPC": semaphores,
        "socket buffers": sockets,
    }.items():
        found = python(site, program, timeout=30)
        held = number_after(found, "HELD")
        expect(held < MEGABYTES_OF_HOST, f"{name} held {held} MB")


@attack(
    "111b",
    SANDBOX,
    "One person takes every place for sandboxes",
    "another person's command runs meanwhile",
    tests=["boundary/test_sandbox.py::test_one_person_cannot_take_all_slots"],
)
def all_slots(site: Site) -> None:
    run(site, "true")
    client = site.client("ann")
    held = [
        client.send(
            client.new_session(),
            {
                "steps": [
                    {
                        "tool_calls": [
                            {
                                "name": "bash_exec",
                                "arguments": {"command": "sleep 8", "timeout": 10},
                                "id": f"c{number}",
                            }
                            for number in range(8)
                        ]
                    }
                ]
            },
        )["id"]
        for _ in range(4)
    ]
    [found] = site.call_tools(("bash_exec", {"command": "echo FREE", "timeout": 5}), person="bob")
    expect("FREE" in said(found), f"another person was answered {str(found)[:200]}")
    for turn in held:
        client.http.post(f"/api/turns/{turn}/cancel")


@attack(123, SANDBOX, "Read the sandbox's own command line", "no path of the host in it")
def command_line(site: Site) -> None:
    """The mount table names the folder of the workspace below its own root, which tells nothing of the host's."""
    lines = said(run(site, "cat /proc/*/cmdline | tr '\\0' ' '"))
    mounts = said(run(site, "cat /proc/self/mountinfo"))
    home = str(site.needs_own().home)
    expect("ratchet-sandbox" not in lines and home not in lines, f"it shows {lines[:400]}")
    expect(home not in mounts, f"the mount table shows {mounts[:400]}")
