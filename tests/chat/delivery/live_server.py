"""The web server in a process of its own, on the database and the Redis of the test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.db import connection

from copilot_project.env import ROOT

READY_SECONDS = 60


class LiveServer:
    """Holds its listening socket, so that its port is its own from the start."""

    def __init__(self, *, module: str = "copilot_project.server", **environment: str) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.command = [sys.executable, "-m", module, "-e", f"fd:fileno={self.listener.fileno()}"]
        self.environment = (
            os.environ | {"DATABASE_URL": database_url_of_tests(), "LOG_LEVEL": "WARNING"} | environment
        )
        self.process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    @property
    def resident_bytes(self) -> int:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def __enter__(self) -> LiveServer:
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, env=self.environment, pass_fds=[self.listener.fileno()]
        )
        self.wait_until_ready()
        return self

    def __exit__(self, *error: Any) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.listener.close()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while True:
            assert self.process.poll() is None, "The server ended."
            assert time.monotonic() < deadline, "The server did not get ready."
            try:
                urllib.request.urlopen(f"{self.url}/api/config", timeout=5)
            except urllib.error.HTTPError:
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
            else:
                return


def database_url_of_tests() -> str:
    """Where the test's rows are, for another process."""
    known = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite://{known['NAME']}"
    login = (
        f"{quote(known['USER'])}:{quote(known['PASSWORD'])}@{quote(known['HOST'], safe='')}:{known['PORT']}"
    )
    return f"postgres://{login}/{known['NAME']}"
