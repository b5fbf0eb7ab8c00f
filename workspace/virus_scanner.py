"""The virus scanner of uploads: clamd, asked by its INSTREAM command over a unix or TCP socket.

    scan = begin_scan()          # None when no scanner is configured
    scan.feed(block)             # while the content is written to storage
    scan.finish()                # raises before a row makes the content readable

It fails closed: a scanner that is away, slow or says something else than "OK" is a refusal, never a pass.
"""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit

from django.conf import settings

from durable import storable
from durable.database import outside_wait
from workspace import limits
from workspace.errors import FileInfected, FileTooLarge, ScannerUnavailable

OPEN_STREAM = b"zINSTREAM\0"
END_OF_STREAM = b"\0\0\0\0"
CLEAN = "stream: OK"
FOUND = " FOUND"
TOO_LONG = "size limit exceeded"
DEFAULT_PORT = 3310


def begin_scan() -> Scan | None:
    """Open a scan with the configured scanner; None if there is none. Raises ScannerUnavailable."""
    return Scan(settings.COPILOT_UPLOAD_SCANNER) if settings.COPILOT_UPLOAD_SCANNER else None


def scanner_version() -> str:
    """Return what the configured scanner says it is; raises ScannerUnavailable."""
    address = settings.COPILOT_UPLOAD_SCANNER
    with outside_wait(), ScannerSocket(address, limits.SCANNER_CONNECT_SECONDS) as clamd:
        clamd.send(b"zVERSION\0")
        return clamd.answer()


class Scan:
    """One stream of content that clamd looks at; it is closed by `finish` or `abandon`."""

    def __init__(self, address: str) -> None:
        self.clamd = ScannerSocket(address, limits.SCAN_SECONDS)
        try:
            self.clamd.send(OPEN_STREAM)
        except ScannerUnavailable:
            self.abandon()
            raise

    def feed(self, block: bytes) -> None:
        """Send a piece of the content; raises ScannerUnavailable, or what clamd found wrong before the end."""
        if not block:  # an empty one would end the stream
            return
        try:
            self.clamd.send(len(block).to_bytes(4, "big") + block)
        except ScannerUnavailable:
            judge(self.clamd.answer())  # it may have hung up with a reason
            raise

    def finish(self) -> None:
        """Wait for the verdict; raises FileInfected, FileTooLarge or ScannerUnavailable unless it is clean."""
        try:
            self.clamd.send(END_OF_STREAM)
            judge(self.clamd.answer())
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the connection. Idempotent."""
        self.clamd.close()


def judge(answer: str) -> None:
    """Return if the answer says that the content is clean; raise what it says otherwise."""
    if answer == CLEAN:
        return
    if answer.endswith(FOUND):
        name = answer.removeprefix("stream: ").removesuffix(FOUND)
        raise FileInfected(f"The virus scanner found {name} in this file, so it was not saved.")
    if TOO_LONG in answer:
        raise FileTooLarge("The virus scanner does not take files of this size, so it was not saved.")
    raise ScannerUnavailable


class ScannerSocket:
    """A connection to clamd with one deadline for everything that is done on it."""

    def __init__(self, address: str, seconds: float) -> None:
        self.ends_at = time.monotonic() + seconds
        self.connection = connect(address)

    def __enter__(self) -> ScannerSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Send all of it before the deadline; raises ScannerUnavailable."""
        try:
            self.wait_at_most()
            self.connection.sendall(data)
        except OSError:
            raise ScannerUnavailable from None

    def answer(self) -> str:
        """Return the answer, which ends with a NUL or with the connection; raises ScannerUnavailable."""
        received = b""
        while b"\0" not in received:
            try:
                self.wait_at_most()
                block = self.connection.recv(limits.MAX_SCANNER_ANSWER_BYTES)
            except OSError:
                raise ScannerUnavailable from None
            received += block
            if not block or len(received) > limits.MAX_SCANNER_ANSWER_BYTES:
                break
        words = received.partition(b"\0")[0].decode("utf-8", "replace").strip()
        return storable.text(words, most=limits.MAX_SCANNER_ANSWER_BYTES)

    def wait_at_most(self) -> None:
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise ScannerUnavailable
        self.connection.settimeout(left)

    def close(self) -> None:
        self.connection.close()


def connect(address: str) -> socket.socket:
    """Return a connection to `unix:///path` or `tcp://host:port`; raises ScannerUnavailable."""
    parts = urlsplit(address)
    try:
        if parts.scheme == "unix":
            return connect_unix(parts.path)
        place = (parts.hostname or "", parts.port or DEFAULT_PORT)
        return socket.create_connection(place, timeout=limits.SCANNER_CONNECT_SECONDS)
    except OSError:
        raise ScannerUnavailable from None


def connect_unix(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(limits.SCANNER_CONNECT_SECONDS)
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection
