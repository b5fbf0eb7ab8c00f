"""The host a credential may be sent to: how it is written, and which hosts it means."""

from __future__ import annotations

from boundary.errors import BlockedUrl
from boundary.urls import parse_url
from executions.credentials.errors import BadCredential

WILDCARD = "*."
HTTPS = 443


def normalise_host(text: str) -> str:
    """`api.example.com`, or `*.example.com` for every name below it; raises BadCredential."""
    given = text.strip().lower()
    star, name = (WILDCARD, given.removeprefix(WILDCARD)) if given.startswith(WILDCARD) else ("", given)
    try:
        target = parse_url(f"https://{name}/")
    except BlockedUrl:
        target = None
    if target is None or target.port != HTTPS or target.path != "/" or "*" in name:
        raise BadCredential(
            f"{text[:100]!r} is not a host. Write a name such as api.example.com, or *.example.com."
        )
    if star and (target.address is not None or "." not in target.host):
        raise BadCredential(f"{text[:100]!r} means too many hosts. Write *.example.com, or one host.")
    return star + target.host


def matches(pattern: str, host: str) -> bool:
    """Whether a credential for `pattern` may be sent to `host`."""
    wanted = host.strip().lower().rstrip(".")
    if not pattern or not wanted:
        return False
    if pattern.startswith(WILDCARD):
        return wanted.endswith(pattern[1:])
    return wanted == pattern
