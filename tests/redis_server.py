"""A Redis server of a test or of a whole run, gone with the process that started it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from copilot_project.launcher import die_with_parent
from copilot_project.launcher.redis import make_folders, server_command


def start_server(directory: Path, path: Path, *, append_only: bool = True) -> subprocess.Popen[bytes]:
    """Start a server on the socket `path`; the kernel kills it if this process is killed."""
    make_folders(directory, path)
    command = server_command(directory, path, append_only=append_only)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid()), *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
