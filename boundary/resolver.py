"""Resolve host names with a deadline, which the system's resolver does not support."""

from __future__ import annotations

import queue
import socket
import threading
from ipaddress import ip_address
from typing import Protocol

from boundary.addresses import Address
from boundary.errors import HostNotFound, TooSlow
from durable.connections import outside_wait


class Resolver(Protocol):
    """Returns every address of a name, in the order to try them."""

    def resolve(self, host: str, port: int, seconds: float) -> list[Address]: ...


class SystemResolver:
    """The machine's own resolver, as configured."""

    def resolve(self, host: str, port: int, seconds: float) -> list[Address]:
        answers: queue.SimpleQueue[list[Address] | OSError | UnicodeError] = queue.SimpleQueue()
        # getaddrinfo cannot be interrupted: if the name server hangs, only this thread is left behind.
        threading.Thread(target=look_up, args=(host, port, answers), daemon=True, name="resolve").start()
        try:
            with outside_wait():
                answer = answers.get(timeout=seconds)
        except queue.Empty:
            raise TooSlow(f"The name {host} could not be resolved in time.") from None
        if isinstance(answer, (OSError, UnicodeError)):
            raise HostNotFound(f"The host {host} could not be found.") from answer
        return answer


def look_up(host: str, port: int, answers: queue.SimpleQueue[list[Address] | OSError | UnicodeError]) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        answers.put(error)
        return
    # Keeps the order, drops duplicates. A zone ("fe80::1%eth0") stays in the address, which is then refused.
    answers.put(list(dict.fromkeys(ip_address(sockaddr[0]) for *_, sockaddr in found)))
