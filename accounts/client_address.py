"""Where a request came from, as far as it can be believed."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

Address = IPv4Address | IPv6Address


def client_address(request: HttpRequest) -> str:
    """The address of the peer, or, when the peer is a trusted proxy, the last hop no trusted proxy vouches for.

    X-Forwarded-For is read from its right end: everything left of the first untrusted hop is hearsay.
    """
    believed = str(request.META.get("REMOTE_ADDR", ""))
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",")]
    while is_trusted_proxy(believed) and hops and parse(hops[-1]):
        believed = hops.pop()
    return believed


def client_network(request: HttpRequest) -> str:
    """What counts as one client for limits: an IPv4 address, or the /64 one IPv6 customer gets."""
    address = parse(client_address(request))
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, 64), strict=False))
    return str(address or "unknown")


def is_trusted_proxy(text: str) -> bool:
    address = parse(text)
    return address is not None and any(
        address in ip_network(network, strict=False) for network in settings.COPILOT_TRUSTED_PROXIES
    )


def parse(text: str) -> Address | None:
    """The address, with IPv4 in its own form also when it comes wrapped in IPv6; None when it is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
