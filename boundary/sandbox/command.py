"""The command line that starts a command in the sandbox."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from boundary.errors import SandboxUnavailable
from boundary.sandbox.types import SandboxLimits

PATH = "/usr/local/bin:/usr/bin:/bin"
PRODUCT = Path(__file__).resolve().parents[2]
TOP_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


def sandbox_command(
    command: list[str],
    *,
    uid: int | None,
    limits: SandboxLimits,
    arguments_fd: int,
    entrances: Sequence[int] = (),
) -> list[str]:
    """Return the complete command line.

    `uid` is set if we are root: the host must see a different user. bubblewrap reads its arguments from a descriptor,
    because every process on the host and in the sandbox can read its command line. `entrances` are descriptors of the
    control group to join.
    """
    drop = []
    if uid is not None:
        drop = [program("setpriv"), f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]
    outer, inner = resource_limits(limits, own_user=uid is not None)
    return [
        *join_group(entrances),
        *drop,
        *outer,
        *(program("bwrap"), "--args", str(arguments_fd)),
        *("--", "/usr/bin/env", "-u", "PWD", *inner, *command),
    ]


def bwrap_arguments(workdir: Path, limits: SandboxLimits, *, seccomp_fd: int, status_fd: int) -> bytes:
    """Return the arguments of bubblewrap in the form it reads from a descriptor."""
    descriptors = ("--seccomp", str(seccomp_fd), "--json-status-fd", str(status_fd))
    return b"".join(
        os.fsencode(word) + b"\0" for word in (*isolation(), *filesystem(workdir, limits), *descriptors)
    )


def join_group(entrances: Sequence[int]) -> list[str]:
    """Return the prefix that joins a control group and closes its descriptors."""
    if not entrances:
        return []
    enter = "".join(f"echo 0 >&{entrance} && exec {entrance}>&- && " for entrance in entrances)
    return [program("bash"), "-c", f'{enter}exec -c "$@"', "bash"]


def resource_limits(limits: SandboxLimits, *, own_user: bool) -> tuple[list[str], list[str]]:
    """Return the per-process limits to set outside and inside the sandbox.

    The kernel counts processes per user. A slot's user runs nothing else, but our own user does; in that case the
    limit is set inside, where only the sandbox's user namespace is counted.
    """
    common = [f"--as={limits.memory_bytes}", f"--cpu={limits.cpu_seconds}", f"--fsize={limits.file_bytes}"]
    common += [f"--nofile={limits.open_files}", "--core=0"]
    processes = f"--nproc={limits.processes}"
    if own_user:
        return [program("prlimit"), *common, processes, "--"], []
    return [program("prlimit"), *common, "--"], ["prlimit", processes, "--"]


def isolation() -> list[str]:
    """Return the arguments for isolation: new namespaces, no capabilities, no terminal, no environment."""
    return [
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--hostname", "sbx"),
        *("--clearenv", "--setenv", "PATH", PATH, "--setenv", "HOME", "/box"),
    ]


def filesystem(workdir: Path, limits: SandboxLimits) -> list[str]:
    """Return the mounts: programs read-only, the workdir and a small /tmp writable, nothing else of the host."""
    mounts = ["--ro-bind", "/usr", "/usr"]
    for name in TOP_LINKS:
        top = Path("/") / name
        if top.is_symlink():
            mounts += ["--symlink", str(top.readlink()), str(top)]
        elif top.is_dir():
            mounts += ["--ro-bind", str(top), str(top)]
    mounts += [
        "--ro-bind-try",
        "/etc/alternatives",
        "/etc/alternatives",
    ]  # only symlinks, such as Debian's awk
    for hidden in (Path("/usr/src"), PRODUCT):
        if hidden.is_dir() and hidden.is_relative_to("/usr"):
            mounts += ["--size", "4096", "--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    return [
        *mounts,
        *("--proc", "/proc", "--dev", "/dev"),
        *("--size", str(1024 * 1024), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),  # noqa: S108 - inside the sandbox
        *("--size", str(limits.tmp_bytes), "--tmpfs", "/tmp"),  # noqa: S108 - inside the sandbox
        *("--bind", str(workdir), "/box", "--chdir", "/box", "--remount-ro", "/"),
    ]


def program(name: str) -> str:
    """Return the path of a required program; raise SandboxUnavailable if it is missing."""
    found = shutil.which(name, path=f"{os.defpath}:/usr/local/bin:/usr/sbin:/sbin")
    if found is None:
        package = {"bwrap": "bubblewrap", "bash": "bash"}.get(name, "util-linux")
        raise SandboxUnavailable(f"The program {name} is missing. Install the package {package}.")
    return found
