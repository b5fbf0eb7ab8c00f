"""The network policy: which targets and addresses may be reached."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from boundary.addresses import Address, is_public, is_this_machine
from boundary.errors import BlockedReason, BlockedUrl
from boundary.urls import DEFAULT_PORTS, Target, parse_url

WEB_PORTS = frozenset({80, 443, 8080, 8443})
INTERNAL_NAMES = frozenset(
    {"localhost", "metadata", "instance-data", "local", "internal", "localdomain", "kubernetes"}
)
INTERNAL_SUFFIXES = (
    *(".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa"),
    *(".cluster.local", ".svc"),
)
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


@dataclass(frozen=True, kw_only=True)
class AllowList:
    """Host and port pairs that the operator trusts although they are not on the public internet."""

    pairs: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def of(cls, entries: Iterable[str]) -> AllowList:
        """Parse entries such as `localhost:11434`, `10.0.0.5:8080` or `[::1]:9000`; the default port is 80."""
        targets = [parse_url(f"http://{entry}/") for entry in entries]
        if odd := [target for target in targets if target.path != "/"]:
            raise BlockedUrl(
                BlockedReason.MALFORMED, f"Write host:port, without a scheme or a path: {odd[0]}."
            )
        return cls(pairs=frozenset((target.host, target.port) for target in targets))

    def __contains__(self, target: Target | Destination) -> bool:
        return (target.host, target.port) in self.pairs


@dataclass(frozen=True, kw_only=True)
class NetworkPolicy:
    """The rules that every hop of a request must satisfy."""

    allowed: AllowList = AllowList()
    plaintext: AllowList = AllowList()  # secrets may be sent there without TLS
    own_hosts: frozenset[str] = frozenset()
    ports: frozenset[int] = WEB_PORTS

    def check_target(self, target: Target) -> None:
        """Check the URL before its name is resolved; raise BlockedUrl."""
        if target in self.allowed:
            return
        if target.address is not None:
            self.check_address(target, target.address)
        if target.host in INTERNAL_NAMES or target.host.endswith(INTERNAL_SUFFIXES):
            raise BlockedUrl(BlockedReason.INTERNAL_NAME, f"{target.host} is an internal host name.")
        if target.host in self.own_hosts:
            raise BlockedUrl(BlockedReason.OWN_HOST, f"{target.host} is this site itself.")
        if target.port not in self.ports:
            ports = ", ".join(str(port) for port in sorted(self.ports))
            raise BlockedUrl(
                BlockedReason.PORT, f"Port {target.port} is not allowed. Allowed ports: {ports}."
            )

    def check_address(self, target: Target, address: Address) -> None:
        """Check a resolved address; raise BlockedUrl. One bad address blocks the whole name."""
        if target in self.allowed:
            return
        if not is_public(address):
            raise BlockedUrl(BlockedReason.NOT_PUBLIC, f"{target.host} is not on the public internet.")
        if is_this_machine(address):
            raise BlockedUrl(BlockedReason.OWN_HOST, f"{target.host} is this machine.")


def policy_from_settings() -> NetworkPolicy:
    """Return the operator's policy; requests to this site itself are blocked.

    BOUNDARY_ALLOWED_HOSTS lists reachable internal services, BOUNDARY_PLAINTEXT_HOSTS the servers to which
    credentials may be sent without TLS.
    """
    site = urlsplit(settings.SITE_URL).hostname
    names = {
        host.strip("[]").rstrip(".").lower()
        for host in settings.ALLOWED_HOSTS
        if host[:1] not in ("", "*", ".")
    }
    return NetworkPolicy(
        allowed=read_allow_list("BOUNDARY_ALLOWED_HOSTS"),
        plaintext=read_allow_list("BOUNDARY_PLAINTEXT_HOSTS"),
        own_hosts=frozenset(names | ({site.lower()} if site else set())),
    )


def read_allow_list(setting: str) -> AllowList:
    """Return the host:port pairs of a setting; raise ImproperlyConfigured for an invalid entry."""
    try:
        return AllowList.of(getattr(settings, setting, ()))
    except BlockedUrl as error:
        raise ImproperlyConfigured(f"{setting} has an entry that is not host:port. {error}") from error
