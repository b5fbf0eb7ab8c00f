"""The process from which parsers are forked: it keeps their modules loaded and forks one child per request.

The control socket carries one `ORDER` per request together with a socket for that request. From it the child reads a
line of JSON and the body up to the end of the stream, and answers with one JSON object.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import socket
import struct
import sys
from typing import Any, NoReturn

from boundary.errors import UnreadableContent

ORDER = struct.Struct("64sddQ")  # parser module, CPU seconds, total seconds, bytes of memory
NICENESS = 5  # turns and executions take precedence on a busy machine
CHUNK = 1024 * 1024


def serve(control: socket.socket) -> None:
    """Fork a child for each order until the control socket is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    while True:
        order, sockets, _, _ = socket.recv_fds(control, ORDER.size, 1)
        if not order:
            return
        name, cpu_seconds, seconds, memory_bytes = ORDER.unpack(order)
        parser = importlib.import_module(name.rstrip(bytes(1)).decode())
        if os.fork() == 0:
            control.close()
            set_limits(cpu_seconds, seconds, memory_bytes)
            handle(parser, socket.socket(fileno=sockets[0]))
        os.close(sockets[0])


def set_limits(cpu_seconds: float, seconds: float, memory_bytes: int) -> None:
    """Set limits that the kernel enforces by signals, whatever the interpreter is doing."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    os.nice(NICENESS)
    for name, wanted in (
        ("CPU", max(round(cpu_seconds), 1)),
        ("AS", memory_bytes),
        ("FSIZE", 0),
        ("NPROC", 0),
        ("CORE", 0),
    ):
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (limit, limit))


def handle(parser: Any, connection: socket.socket) -> NoReturn:
    """Parse the request, send the answer and exit; a child that is killed sends none."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries may print their input
    try:
        connection.sendall(answer(parser, connection))
    finally:
        os._exit(0)


def answer(parser: Any, connection: socket.socket) -> bytes:
    head, _, body = b"".join(iter(lambda: connection.recv(CHUNK), b"")).partition(b"\n")
    try:
        found = {"result": parser.parse(body, json.loads(head))}
    except UnreadableContent as error:
        found = {"unreadable": str(error)}
    except MemoryError:
        return b""
    except Exception as error:  # noqa: BLE001 - a bug in a library; the caller logs it
        found = {"crashed": f"{type(error).__name__}: {error}"[:500]}
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
