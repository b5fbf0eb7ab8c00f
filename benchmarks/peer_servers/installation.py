"""Install other people's frameworks, each in a scratch environment that the next run finds again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = "BENCH_PEERS_FOLDER"  # where the environments are kept
SECONDS = 900


class CannotInstall(Exception):
    """The packages of a peer could not be installed."""


def folder(name: str) -> Path:
    kept = os.environ.get(FOLDER) or Path(tempfile.gettempdir()) / f"ratchet-peers-{os.getuid()}"
    place = Path(kept) / name
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    return place


def python_packages(name: str, *packages: str) -> Path:
    """Return the bin folder of an environment that has these packages."""
    place = folder(name)
    if not is_complete(place, packages):
        run([sys.executable, "-m", "venv", "--clear", str(place)])
        run([str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages])
        complete(place, packages)
    return place / "bin"


def node_packages(name: str, *packages: str) -> Path:
    """Return a folder in which Node finds these packages."""
    if not shutil.which("npm"):
        raise CannotInstall("npm is not installed")
    place = folder(name)
    if not is_complete(place, packages):
        (place / "package.json").write_text('{"private": true, "type": "module"}')
        run(["npm", "install", "--silent", "--no-audit", "--no-fund", *packages], folder=place)
        complete(place, packages)
    return place


def is_complete(place: Path, packages: tuple[str, ...]) -> bool:
    mark = place / "installed.json"
    return mark.exists() and json.loads(mark.read_text()) == list(packages)


def complete(place: Path, packages: tuple[str, ...]) -> None:
    (place / "installed.json").write_text(json.dumps(packages))


def run(command: list[str], folder: Path | None = None) -> None:
    try:
        subprocess.run(command, cwd=folder, timeout=SECONDS, check=True, capture_output=True, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise CannotInstall(f"`{' '.join(command[:4])} …` failed: {said[-1] if said else error}") from error
