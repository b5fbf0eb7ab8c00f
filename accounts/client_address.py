"""The trustworthy address of a request's client."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.core.checks import Error, register
from django.http import HttpRequest

Address = IPv4Address | IPv6Address


def client_address(request: HttpRequest) -> str:
    """Return the address of the peer or, behind trusted proxies, of the last hop that is not one of them.

    X-Forwarded-For is read from the right: anything left of the first untrusted hop may be forged.
    """
    believed = str(request.META.get("REMOTE_ADDR", ""))
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",")]
    while is_trusted_proxy(believed) and hops and parse(hops[-1]):
        believed = hops.pop()
    return believed


def client_network(request: HttpRequest) -> str:
    """Return what counts as one client in limits: an IPv4 address or an IPv6 /64 network."""
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
    """Return the address, an IPv4-mapped one as IPv4; None if it is not an address."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


@register
def trusted_proxies_are_networks(**kwargs: Any) -> list[Error]:
    """Report malformed proxies at start-up instead of at the first login."""
    return [
        Error(
            f"COPILOT_TRUSTED_PROXIES has {text!r}, which is neither an address nor a network.",
            hint="Write it like 10.0.0.1 or 10.0.0.0/8, several separated by commas.",
            id="accounts.E001",
        )
        for text in settings.COPILOT_TRUSTED_PROXIES
        if not is_network(text)
    ]


def is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True
