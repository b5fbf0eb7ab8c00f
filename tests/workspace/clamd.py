"""A real clamd with one signature of its own, and a socket that answers whatever a test wants."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness import DIE_WITH_PARENT, eventually, free_port
from tests.needs import CLAMD, clamd_program, require

# In pieces, so that no scanner takes this file for the test virus.
EICAR = b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$" + b"EICAR-STANDARD-" + b"ANTIVIRUS-TEST-FILE!$H+H*"
START_SECONDS = 60.0
LARGEST = 1024 * 1024


@contextmanager
def running_clamd(folder: Path) -> Iterator[dict[str, str]]:
    """Start clamd; answers its address by kind of socket."""
    require(CLAMD)
    signatures = folder / "signatures"
    signatures.mkdir(parents=True)
    (signatures / "local.ndb").write_text(f"Eicar-Local:0:*:{EICAR.hex()}\n")
    path, port = folder / "clamd.sock", free_port()
    configuration = folder / "clamd.conf"
    configuration.write_text(
        f"Foreground yes\nLocalSocket {path}\nTCPSocket {port}\nTCPAddr 127.0.0.1\n"
        f"DatabaseDirectory {signatures}\nTemporaryDirectory {folder}\nStreamMaxLength {LARGEST}\n"
    )
    command = [clamd_program() or "clamd", "-c", str(configuration)]
    with (folder / "clamd.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, str(DIE_WITH_PARENT), str(os.getpid()), *command], stdout=log, stderr=log
        )
    try:
        eventually(lambda: accepts(port), seconds=START_SECONDS, what="clamd")
        yield {"unix": f"unix://{path}", "tcp": f"tcp://127.0.0.1:{port}"}
    finally:
        server.kill()
        server.wait()


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def scanner_that(answers: Callable[[socket.socket], None]) -> Iterator[str]:
    """Listen, and let `answers` speak on every connection; answers the address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return  # the test is over
                with connection:
                    answers(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def read_stream(connection: socket.socket) -> bytes:
    """Read one INSTREAM command to its end; answers the content."""
    with connection.makefile("rb") as stream:
        assert stream.read(10) == b"zINSTREAM\0"
        content = b""
        while size := int.from_bytes(stream.read(4), "big"):
            content += stream.read(size)
        return content
