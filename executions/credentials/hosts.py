"""Host patterns of credentials: parsing and matching."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from boundary.errors import BlockedUrl
from boundary.policy import HTTPS_PORT, Destination, bracketed, read_destination
from boundary.urls import parse_url
from executions.credentials.errors import BadCredential

if TYPE_CHECKING:  # slow to load, and only needed for wildcards
    from publicsuffixlist import PublicSuffixList

WILDCARD = "*."
# A public suffix for the sake of cookies, but every host below it is Google's own.
OF_ONE_OWNER = frozenset({"googleapis.com"})


def normalise_host(text: str) -> str:
    """Normalise `api.example.com`, or `*.example.com` for every name below it; raises BadCredential."""
    given = text.strip().lower()
    star, name = (WILDCARD, given.removeprefix(WILDCARD)) if given.startswith(WILDCARD) else ("", given)
    try:
        target = parse_url(f"https://{bracketed(name)}/")
    except BlockedUrl:
        target = None
    if target is None or target.port != HTTPS_PORT or target.path != "/" or "*" in name:
        raise BadCredential(
            f"{text[:100]!r} is not a host. Use a name such as api.example.com, and `port` for the port."
        )
    if star and (target.address is not None or has_many_owners(target.host)):
        raise BadCredential(
            f"{text[:100]!r} covers hosts of many owners. Use *.example.com for a single owner's domain, or one host."
        )
    return star + target.host


def has_many_owners(name: str) -> bool:
    return name not in OF_ONE_OWNER and is_public_suffix(name)


def normalise_server(host: str, port: int) -> Destination:
    """Normalise the server of a login, which takes no wildcard; raises BadCredential."""
    try:
        return read_destination(host, port)
    except BlockedUrl:
        raise BadCredential(
            f"{host[:100]!r} is not a host. Use a name such as db.example.com, and `port` for the port."
        ) from None


def matches(pattern: str, host: str) -> bool:
    """Return whether a credential for `pattern` may be sent to `host`, both normalised."""
    if not pattern or not host:
        return False
    if pattern.startswith(WILDCARD):
        name = pattern.removeprefix(WILDCARD)
        return host.endswith(f".{name}") and not has_many_owners(name)
    return host == pattern


def is_public_suffix(name: str) -> bool:
    """Return whether anyone can register names below it, as below co.uk or github.io."""
    return public_suffixes().privatesuffix(name) is None


@cache
def public_suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
