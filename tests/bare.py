"""The tests that a bare machine could fool, on one: `python -m tests.bare` is a job of CI.

No PostgreSQL, Redis, RabbitMQ, bubblewrap, Chromium, Node, nginx or Docker on the PATH, no server at the tests'
addresses, an empty home folder, and no CI that insists on them. Started by root it also has no network, its servers'
programs are out of sight, and the tests run as another user. Every test must pass or skip.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HIDDEN = re.compile(
    r"redis-.*|rabbitmq.*|psql|postgres.*|pg_.*|initdb|createdb|dropdb|bwrap|chromium.*|google-chrome.*|node|nodejs|npm"
    r"|npx|nginx|caddy|docker.*"
)
SERVERS = ("/usr/lib/postgresql", "/usr/lib/rabbitmq")
NOWHERE = {
    "TEST_POSTGRES_URL": "postgres://127.0.0.1:1",
    "TEST_RABBITMQ_URL": "amqp://guest:guest@127.0.0.1:1",
    "npm_config_fetch_retries": "0",  # without a network there is nothing to wait for
    "PIP_RETRIES": "0",
}
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
RUNS = (
    ("-m", "services or browser or node"),
    (
        "tests/boundary/test_sandbox.py",
        "tests/boundary/test_sandbox_readiness.py",
        "tests/tools/catalog/test_bash_exec.py",
    ),
)
SECONDS = 900
INSIDE = "--inside"
IFF_UP, SIOCGIFFLAGS, SIOCSIFFLAGS = 1, 0x8913, 0x8914


def main(words: list[str]) -> int:
    if words[:1] == [INSIDE]:
        return become_bare(words[1:])
    with tempfile.TemporaryDirectory(prefix="bare-") as folder:
        box = Path(folder)
        box.chmod(0o755)
        programs = visible_programs(box / "programs")
        environment = {"PATH": str(programs), "HOME": str(box / "home"), "LANG": "C.UTF-8"} | NOWHERE
        (box / "home").mkdir()
        (box / "home").chmod(0o777)
        ended = [run(environment, *chosen) for chosen in ([words] if words else RUNS)]
    if "needs PostgreSQL" not in "".join(said for _, said in ended) and not words:
        sys.stdout.write("\nNo test said that it needs PostgreSQL: this machine was not bare.\n")
        return 1
    return next((code for code, _ in ended if code), 0)


def visible_programs(folder: Path) -> Path:
    """A folder with links to all programs of the PATH but the hidden ones."""
    folder.mkdir()
    for place in os.get_exec_path():
        for program in Path(place).glob("*"):
            link = folder / program.name
            if not HIDDEN.fullmatch(program.name) and not link.is_symlink():
                link.symlink_to(program)
    return folder


def run(environment: dict[str, str], *words: str) -> tuple[int, str]:
    """Answers pytest's exit code and what it said, which is shown as it is said."""
    command = [*apart(), sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    lines = []
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
    return process.returncode, "".join(lines)


def apart() -> list[str]:
    """What shuts a command off from the network and the servers' programs; only root may."""
    namespaces = ["unshare", "--mount", "--net"]
    if os.geteuid() != 0 or not works(*namespaces):
        return []
    return [*namespaces, sys.executable, "-m", "tests.bare", INSIDE]


def works(*command: str) -> bool:
    return (
        bool(shutil.which(command[0]))
        and not subprocess.run([*command, "true"], capture_output=True, timeout=SECONDS).returncode
    )


def become_bare(command: list[str]) -> int:
    """In namespaces of its own: raise the loopback, cover the servers' programs, go on as nobody if that can be."""
    raise_loopback()
    for folder in filter(os.path.isdir, SERVERS):
        subprocess.run(["mount", "-t", "tmpfs", "bare", folder], check=True)
    words = (
        [*NOBODY, *command]
        if works(*NOBODY, sys.executable, "-c", "import django, redis, pytest #")
        else command
    )
    os.execvp(words[0], words)


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        asked = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack("16sh22x", fcntl.ioctl(control, SIOCGIFFLAGS, asked))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
