"""MCP servers of other people, run as processes of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.harness import free_port
from tests.needs import MCP_PACKAGES, node_program

START_SECONDS = 120
SDK_SERVER = Path(__file__).with_name("sdk_server.py")
EVERYTHING = (
    MCP_PACKAGES / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
)


@dataclass(kw_only=True)
class SdkServer:
    """The running server on the official SDK, from outside."""

    port: int
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def tell(self, **said: Any) -> None:
        httpx.post(f"http://{self.host}/control", json=said).raise_for_status()

    def seen(self) -> dict[str, int]:
        found: dict[str, int] = httpx.get(f"http://{self.host}/seen").json()
        return found


@contextlib.contextmanager
def sdk_server(state: Path | None = None, port: int = 0) -> Iterator[SdkServer]:
    words = [sys.executable, str(SDK_SERVER), *([str(state), str(port)] if state else [])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        found = int(process.stdout.readline())
        wait_until_up(f"http://127.0.0.1:{found}/seen", process)
        yield SdkServer(port=found, process=process)
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def everything_server() -> Iterator[str]:
    """The stock server of the npm registry, of the handshake era; yields its host and port."""
    port = free_port()
    process = subprocess.Popen(
        [node_program(), str(EVERYTHING), "streamableHttp"],
        env=os.environ | {"PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        wait_until_up(f"http://127.0.0.1:{port}/mcp", process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def wait_until_up(url: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(httpx.HTTPError):
            httpx.get(url, timeout=2)
            return
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
