"""Running a parser of strangers' bytes in a process of its own, with hard limits on processor, memory and time.

A parser may hold the interpreter, or take memory, for as long as its input wants. Here that costs nobody else
anything: one request is one process, forked from a server that has the libraries loaded, and the kernel ends it.
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

from boundary.errors import ParserBusy, ParserCrashed, ParserStopped
from boundary.parsers.errors import UnreadableContent
from boundary.parsers.server import CHUNK, ORDER
from durable import limits
from durable.connections import outside_wait
from durable.current_owner import current_owner
from durable.process import PerProcess

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
    """Return what the module of that name, one of `boundary.parsers`, makes of the body.

    Raises UnreadableContent when the parser says so, ParserStopped when it took too much processor, memory or time,
    ParserBusy when too many others are at work, in all or for the person this thread works for, ParserCrashed for a
    bug in it. The limits are those of `durable.limits` unless given.
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
    """Send the request and read the answer; raises ParserStopped when the other side ends without one."""
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
    """The server that this process's parsers are forked from, started at first use and again after its death."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._freed = threading.Condition()
        self._at_work: Counter[str] = Counter()  # parsers per owner; "" is nobody in particular
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @contextmanager
    def slot(self, owner: str = "") -> Iterator[None]:
        """Wait until fewer parsers are at work than may be at once, in all and for one owner; raises ParserBusy.

        Nobody in particular ("") is limited by the total only.
        """
        with self._freed:
            if not self._freed.wait_for(lambda: self._has_room(owner), timeout=limits.PARSER_SLOT_SECONDS):
                raise ParserBusy
            self._at_work[owner] += 1
        try:
            yield
        finally:
            with self._freed:
                self._at_work -= Counter([owner])  # drops those who have none left
                self._freed.notify_all()

    def _has_room(self, owner: str) -> bool:
        if owner and self._at_work[owner] >= limits.PARSERS_PER_USER:
            return False
        return self._at_work.total() < limits.PARSERS_AT_ONCE

    def connect(self, parser: str, seconds: float, memory_bytes: int) -> socket.socket:
        """Return the connection to a parser that has just been forked; raises ParserCrashed."""
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
        """End the server; parsers at work end by their own limits."""
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
    """Without our environment, which has secrets, and out of reach of a terminal's signals."""
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
