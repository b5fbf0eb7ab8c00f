"""Every test also checks that the product holds no database connection while it reaches outside.

Python tells of each socket that connects, each name that is looked up and each process that is started. Where product
code does that on a thread with a database connection, outside of `durable.database.outside_wait`, the test fails.
Loaded by `-p` in pyproject.toml. An audit hook cannot be taken away again: it stays for the life of the process.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = str(Path(__file__).resolve().parent.parent) + "/"
INSTALLED = str(Path(sys.prefix)) + "/"
EVENTS = frozenset({"socket.connect", "socket.getaddrinfo", "subprocess.Popen"})
PACKAGES = frozenset(
    {
        "doors",
        "chat",
        "tools",
        "connections",
        "executions",
        "blocks",
        "webhooks",
        "llm",
        "workspace",
        "accounts",
        "boundary",
    }
)
OUR_SERVERS = ("/redis/", "/kombu/", "/amqp/")  # have short time-outs of their own
violations: list[str] = []


def watch(event: str, args: tuple[Any, ...]) -> None:
    if event in EVENTS and holds_connection() and (place := product_frame()):
        violations.append(f"{event} at {place} on {threading.current_thread().name}")


def holds_connection() -> bool:
    """Whether this thread has a database connection and did not say that it waits for the outside."""
    ours = sys.modules.get("durable.database")
    return ours is not None and bool(ours._opened()) and not ours.in_outside_wait()


def product_frame() -> str:
    """The line of the product that reaches outside; empty when it is a test, or one of our own servers."""
    frame = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if any(name in path for name in OUR_SERVERS):
            return ""
        if path.startswith(ROOT) and not path.startswith(INSTALLED):
            inside = path.removeprefix(ROOT)
            return f"{inside}:{frame.f_lineno}" if inside.partition("/")[0] in PACKAGES else ""
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def pytest_configure() -> None:
    sys.addaudithook(watch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    violations.clear()
    yield
    if violations:
        found = "\n".join(sorted(set(violations)))
        pytest.fail(f"A database connection is held over an outside wait:\n{found}", pytrace=False)
