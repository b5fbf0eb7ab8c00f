"""IP addresses: how host names resolve to them, and which belong to the public internet."""

from __future__ import annotations

import queue
import socket
import threading
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Protocol

from boundary.errors import HostNotFound, TooSlow
from durable.database import outside_wait

Address = IPv4Address | IPv6Address

# Written out instead of using `is_global`, whose results changed between Python releases.
NOT_PUBLIC_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata service
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's host agent
        "169.254.0.0/16",  # link-local, and most clouds' metadata service
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocols, and Oracle's metadata service
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")  # so not ::/8 (mapped, NAT64), fc00::/7, fe80::/10, ff00::/8
NOT_PUBLIC_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocols: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: carries any IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # 6bone
        "3fff::/20",  # documentation
    )
)


def is_public(address: Address) -> bool:
    """Return whether an address is global unicast and cannot embed another address."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NOT_PUBLIC_V4)
    if address.scope_id is not None or address not in GLOBAL_UNICAST_V6:
        return False
    return not any(address in network for network in NOT_PUBLIC_V6)


def is_this_machine(address: Address) -> bool:
    """Return whether the address belongs to one of our own interfaces. Connecting a datagram socket sends nothing."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return bool(ip_address(probe.getsockname()[0].partition("%")[0]) == address)
    except OSError:  # no route or no such address family: not this machine
        return False


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
