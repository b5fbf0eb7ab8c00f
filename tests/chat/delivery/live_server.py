"""The web server in a process of its own, on the database and the Redis of the test."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.db import connection

from tests.environment import TEST_HOME
from tests.fork_server import ForkedProcess, Products
from tests.harness import free_port

READY_SECONDS = 180
LOG = TEST_HOME / "live_server.log"


@cache
def products() -> Products:
    """What servers of this run are copies of."""
    return Products(LOG)


class LiveServer:
    """A copy of one process that has loaded the product with the settings of this run."""

    def __init__(self, *words: str, module: str = "copilot_project.server") -> None:
        self.module, self.words = module, words
        self.port = free_port()
        self.environment = os.environ | {
            "DATABASE_URL": database_url_of_tests(),
            "LOG_LEVEL": "WARNING",
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
        }
        self.process: ForkedProcess

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
        self.process = products().start(self.module, self.words, environment=self.environment, log=LOG)
        self.wait_until_ready()
        return self

    def __exit__(self, *error: Any) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while True:
            assert self.process.poll() is None, f"The server ended:\n{LOG.read_text()}"
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
