"""Destinations of secrets: a host and a port in the normalised form that is compared, resolved and connected to."""

from __future__ import annotations

from dataclasses import dataclass

from boundary.errors import BlockedReason, BlockedUrl
from boundary.urls import DEFAULT_PORTS, parse_url

HTTPS_PORT = DEFAULT_PORTS["https"]
SEPARATORS = frozenset("/?#@\\")


@dataclass(frozen=True, kw_only=True)
class Destination:
    """A server. `host` is lower-case ASCII without brackets or a trailing dot."""

    host: str
    port: int
    tls: bool = True  # whether the connection is encrypted

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"


def read_destination(host: str, port: int) -> Destination:
    """Return the normalised server for a host and port; raise BlockedUrl if the host is not a single host name."""
    name = host.strip()
    if SEPARATORS & set(name):
        raise BlockedUrl(BlockedReason.MALFORMED, f"{name[:100]!r} is not a host name.")
    target = parse_url(f"https://{bracketed(name)}:{port}/")
    return Destination(host=target.host, port=target.port)


def bracketed(name: str) -> str:
    """Return a host as written in a URL: an IPv6 address in brackets."""
    return f"[{name}]" if name.count(":") > 1 and not name.startswith("[") else name


def destination_of(url: str) -> Destination:
    """Return the server of an http(s) URL; raise BlockedUrl if the URL is invalid."""
    target = parse_url(url)
    return Destination(host=target.host, port=target.port, tls=target.scheme == "https")
