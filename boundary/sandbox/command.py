"""The command line that puts a command into its box."""

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
    """The whole chain. `uid` is the slot's when we are root: the host must see another user than root.

    bubblewrap reads its own arguments from a descriptor: its command line is seen by everybody on the host, and inside
    the box it is that of the first process. `entrances` are those of the control group that everything belongs to.
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


def box_arguments(box: Path, limits: SandboxLimits, *, seccomp_fd: int, status_fd: int) -> bytes:
    """What bubblewrap is to do, as it reads it from a descriptor."""
    descriptors = ("--seccomp", str(seccomp_fd), "--json-status-fd", str(status_fd))
    return b"".join(
        os.fsencode(word) + b"\0" for word in (*isolation(), *filesystem(box, limits), *descriptors)
    )


def join_group(entrances: Sequence[int]) -> list[str]:
    """Enter a control group before anything else, and keep nothing of it open."""
    if not entrances:
        return []
    enter = "".join(f"echo 0 >&{entrance} && exec {entrance}>&- && " for entrance in entrances)
    return [program("bash"), "-c", f'{enter}exec -c "$@"', "bash"]


def resource_limits(limits: SandboxLimits, *, own_user: bool) -> tuple[list[str], list[str]]:
    """What limits each process, set outside and inside the box.

    The number of processes counts per user. A slot's user has no others; our own user has, so there the limit is
    set inside, where the kernel counts the box's user namespace only.
    """
    common = [f"--as={limits.memory_bytes}", f"--cpu={limits.cpu_seconds}", f"--fsize={limits.file_bytes}"]
    common += [f"--nofile={limits.open_files}", "--core=0"]
    processes = f"--nproc={limits.processes}"
    if own_user:
        return [program("prlimit"), *common, processes, "--"], []
    return [program("prlimit"), *common, "--"], ["prlimit", processes, "--"]


def isolation() -> list[str]:
    """New namespaces of every kind, no way to make more, no capability, no terminal, no environment."""
    return [
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--hostname", "sbx"),
        *("--clearenv", "--setenv", "PATH", PATH, "--setenv", "HOME", "/box"),
    ]


def filesystem(box: Path, limits: SandboxLimits) -> list[str]:
    """Programs to read, a box and a small /tmp to write, and nothing else of the host."""
    mounts = ["--ro-bind", "/usr", "/usr"]
    for name in TOP_LINKS:
        top = Path("/") / name
        if top.is_symlink():
            mounts += ["--symlink", str(top.readlink()), str(top)]
        elif top.is_dir():
            mounts += ["--ro-bind", str(top), str(top)]
    mounts += ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]  # only links; Debian's awk is one
    for hidden in (Path("/usr/src"), PRODUCT):
        if hidden.is_dir() and hidden.is_relative_to("/usr"):
            mounts += ["--size", "4096", "--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    return [
        *mounts,
        *("--proc", "/proc", "--dev", "/dev"),
        *("--size", str(1024 * 1024), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),  # noqa: S108 - inside the box
        *("--size", str(limits.tmp_bytes), "--tmpfs", "/tmp"),  # noqa: S108 - inside the box
        *("--bind", str(box), "/box", "--chdir", "/box", "--remount-ro", "/"),
    ]


def program(name: str) -> str:
    """Where a program of the chain is; raises SandboxUnavailable."""
    found = shutil.which(name, path=f"{os.defpath}:/usr/local/bin:/usr/sbin:/sbin")
    if found is None:
        package = {"bwrap": "bubblewrap", "bash": "bash"}.get(name, "util-linux")
        raise SandboxUnavailable(f"The program {name} is missing. Install the package {package}.")
    return found
