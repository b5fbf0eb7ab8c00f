"""Where a secret is sent: a host and a port in the one form that is compared, resolved and connected to."""

from __future__ import annotations

from dataclasses import dataclass

from boundary.errors import BlockedReason, BlockedUrl
from boundary.urls import DEFAULT_PORTS, parse_url

HTTPS_PORT = DEFAULT_PORTS["https"]
SEPARATORS = frozenset("/?#@\\")


@dataclass(frozen=True, kw_only=True)
class Destination:
    """A server; `host` is lower case, ASCII, without brackets and without the trailing dot."""

    host: str
    port: int
    tls: bool = True  # False: what is sent there is not encrypted

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_destination(host: str, port: int) -> Destination:
    """Return the server of that name and port, normalised; raise BlockedUrl when it is not exactly one host."""
    name = host.strip()
    if SEPARATORS & set(name):
        raise BlockedUrl(BlockedReason.MALFORMED, f"{name[:100]!r} is not the name of a host.")
    target = parse_url(f"https://{bracketed(name)}:{port}/")
    return Destination(host=target.host, port=target.port)


def bracketed(name: str) -> str:
    """Return the name as a URL has it: an IPv6 address in brackets."""
    return f"[{name}]" if name.count(":") > 1 and not name.startswith("[") else name


def destination_of(url: str) -> Destination:
    """Return the server that an http(s) URL names; raise BlockedUrl."""
    target = parse_url(url)
    return Destination(host=target.host, port=target.port, tls=target.scheme == "https")
