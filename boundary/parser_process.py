"""Run a parser of untrusted bytes in a separate process with hard limits on CPU, memory and time.

Hostile input can make a parser hold the interpreter or allocate memory without end. Each request therefore gets its own
process, forked from a server that has the libraries loaded, and the kernel enforces the limits.
"""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from boundary import limits
from boundary.errors import ParserBusy, ParserCrashed, ParserStopped, UnreadableContent
from boundary.parsers.server import CHUNK, ORDER
from durable.database import outside_wait
from durable.per_process import PerProcess
from durable.tracing import current_owner

log = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parent.parent
START = """
import runpy, sys
sys.path[:] = sys.argv[2].split(":")
runpy.run_module("boundary.parsers.server", run_name="__main__", alter_sys=True)
"""


@outside_wait()
def parse_isolated(
    parser: str,
    body: bytes,
    arguments: Mapping[str, Any] | None = None,
    *,
    seconds: float | None = None,
    memory_bytes: int | None = None,
) -> Any:
    """Parse the body with a module of `boundary.parsers` and return its result.

    Raises UnreadableContent if the parser rejects the content, ParserStopped if it exceeded CPU, memory or time,
    ParserBusy if too many parsers are running in total or for the current user, and ParserCrashed for a bug in the
    parser. The limits default to those in `boundary.limits`.
    """
    server, seconds = parser_server(), seconds or limits.PARSER_CPU_SECONDS
    with server.slot(current_owner()):
        deadline = time.monotonic() + seconds + limits.PARSER_GRACE_SECONDS
        with server.connect(parser, seconds, memory_bytes or limits.PARSER_MEMORY_BYTES) as connection:
            found = exchange(connection, json.dumps(arguments or {}).encode() + b"\n", body, deadline)
    if "unreadable" in found:
        raise UnreadableContent(found["unreadable"])
    if "crashed" in found:
        log.error("parser crashed", extra={"parser": parser, "error": found["crashed"]})
        raise ParserCrashed
    return found["result"]


def exchange(connection: socket.socket, head: bytes, body: bytes, deadline: float) -> dict[str, Any]:
    """Send the request and return the answer; raise ParserStopped if the process ends without one."""
    try:
        for part in (head, body):
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
        found = json.loads(receive(connection, deadline))
    except (OSError, ValueError):
        raise ParserStopped from None
    if not isinstance(found, dict):
        raise ParserStopped
    return found


def receive(connection: socket.socket, deadline: float) -> bytes:
    received = bytearray()
    while len(received) <= limits.MAX_PARSED_BYTES:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        chunk = connection.recv(CHUNK)
        if not chunk:
            return bytes(received)
        received += chunk
    raise ParserStopped


class ParserServer:
    """The server from which this process forks its parsers; started on first use and restarted if it dies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._freed = threading.Condition()
        self._running: Counter[str] = Counter()  # running parsers per owner; "" means no owner
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @contextmanager
    def slot(self, owner: str = "") -> Iterator[None]:
        """Wait for a free slot, in total and for the owner; raise ParserBusy if none becomes free in time.

        Without an owner ("") only the total counts.
        """
        with self._freed:
            if not self._freed.wait_for(lambda: self._has_room(owner), timeout=limits.PARSER_SLOT_SECONDS):
                raise ParserBusy
            self._running[owner] += 1
        try:
            yield
        finally:
            with self._freed:
                self._running -= Counter([owner])  # removes owners whose count reaches zero
                self._freed.notify_all()

    def _has_room(self, owner: str) -> bool:
        if owner and self._running[owner] >= limits.PARSERS_PER_USER:
            return False
        return self._running.total() < limits.PARSERS_AT_ONCE

    def connect(self, parser: str, seconds: float, memory_bytes: int) -> socket.socket:
        """Fork a parser and return the connection to it; raise ParserCrashed if that fails."""
        order = ORDER.pack(parser.encode(), seconds, seconds + limits.PARSER_GRACE_SECONDS, memory_bytes)
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            for fresh in (False, True):
                with suppress(OSError):
                    socket.send_fds(self._started(fresh=fresh), [order], [theirs.fileno()])
                    return ours
        ours.close()
        raise ParserCrashed

    def stop(self) -> None:
        """Stop the server; running parsers end by their own limits."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _started(self, *, fresh: bool) -> socket.socket:
        if fresh:
            self.stop()
        if self._control is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = start(theirs)
            ours.settimeout(limits.PARSER_GRACE_SECONDS)
            self._control = ours
        return self._control


def start(control: socket.socket) -> subprocess.Popen[bytes]:
    """Start the server without our environment, which holds secrets, and in a session of its own."""
    path = ":".join([str(ROOT), *(entry for entry in sys.path if entry)])
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-I", "-c", START, str(control.fileno()), path],
        pass_fds=[control.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )


parser_server = PerProcess(ParserServer)
