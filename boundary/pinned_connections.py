"""A network backend that connects only to addresses checked beforehand, within a deadline."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import httpcore

from boundary import limits
from boundary.addresses import Address
from boundary.errors import TooSlow

WRITE_BYTES = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class Deadline:
    """One deadline for a whole exchange: resolving, connecting, sending, redirects and the body."""

    ends_at: float  # by time.monotonic()

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(ends_at=time.monotonic() + seconds)

    def left(self, at_most: float | None = None) -> float:
        """Return the seconds that remain; raise TooSlow if there are none."""
        seconds = self.ends_at - time.monotonic()
        if seconds <= 0:
            raise TooSlow
        return seconds if at_most is None else min(seconds, at_most)


class PinnedBackend(httpcore.NetworkBackend):
    """Connects to the pinned addresses regardless of the host name; nothing is resolved a second time."""

    def __init__(
        self, addresses: Sequence[Address], deadline: Deadline, network: httpcore.NetworkBackend
    ) -> None:
        self.addresses = addresses
        self.deadline = deadline
        self.network = network

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        failure: Exception = httpcore.ConnectError("no address")
        for address in self.addresses:
            seconds = self.deadline.left(at_most=limits.CONNECT_SECONDS)
            try:
                stream = self.network.connect_tcp(
                    str(address), port, timeout=seconds, socket_options=socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            return TimedStream(stream, self.deadline)
        raise failure


class TimedStream(httpcore.NetworkStream):
    """A stream whose reads and writes are limited to the time left."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self.stream = stream
        self.deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.stream.read(max_bytes, timeout=self.deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        view = memoryview(buffer)
        for start in range(0, len(view), WRITE_BYTES):
            self.stream.write(bytes(view[start : start + WRITE_BYTES]), timeout=self.deadline.left())

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self.stream.start_tls(
            ssl_context, server_hostname, timeout=self.deadline.left(limits.CONNECT_SECONDS)
        )
        return TimedStream(stream, self.deadline)

    def close(self) -> None:
        self.stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self.stream.get_extra_info(info)
