"""Clients of OAuth: registered ones, and those described by a document at the address that is their id."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.utils import timezone

from accounts import limits
from accounts.models import OAuthClient
from accounts.oauth.errors import BadRedirect, OAuthError, UnknownClient
from boundary.errors import BoundaryError
from boundary.http import OutboundRequest, Outside, fetch
from durable import storable

HTTPS = "https://"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
DANGEROUS = frozenset({"javascript", "data", "vbscript", "file", "blob", "about"})
NAME_CHARACTERS = 200
PRINTED = re.compile(r"[!-~]+")
AUTHORITY = re.compile(r"[A-Za-z0-9.:\[\]-]*")  # nothing that means something in a header or a policy


def find_client(client_id: str, outside: Outside | None = None) -> OAuthClient:
    """Return the client of this id; its description is fetched if it is an address. Raises UnknownClient."""
    found = OAuthClient.objects.filter(client_id=client_id).first() if len(client_id) <= 500 else None
    if not client_id.startswith(HTTPS):
        if found is None:
            raise UnknownClient
        return found
    oldest = timezone.now() - timedelta(seconds=limits.OAUTH_DESCRIPTION_SECONDS)
    if found is not None and found.read_at and found.read_at > oldest:
        return found
    return save_described(client_id, read_description(client_id, outside))


def read_description(address: str, outside: Outside | None = None) -> Mapping[str, Any]:
    """Return the document at the address, which must name the address itself. Raises UnknownClient."""
    parts = urlsplit(address)
    if not parts.path.strip("/") or parts.fragment or parts.username or len(address) > 500:
        raise UnknownClient("The client's id must be an https address with a path.")
    request = OutboundRequest(
        url=address,
        headers={"Accept": "application/json"},
        timeout=limits.OAUTH_DESCRIPTION_FETCH_SECONDS,
        max_bytes=limits.MAX_OAUTH_DESCRIPTION_BYTES,
        follow_redirects=False,
    )
    try:
        answer = fetch(request, outside)
        said = storable.loads(answer.body) if answer.status == 200 else None
        storable.check(said)
    except (BoundaryError, ValueError):
        raise UnknownClient("The client's description cannot be fetched.") from None
    if not isinstance(said, dict) or said.get("client_id") != address:
        raise UnknownClient("The client's description does not describe it.")
    return said


def save_described(client_id: str, said: Mapping[str, Any]) -> OAuthClient:
    values = {"name": name_in(said), "redirect_uris": redirects_in(said), "read_at": timezone.now()}
    return OAuthClient.objects.update_or_create(client_id=client_id, defaults=values)[0]


def register(said: Any) -> OAuthClient:
    """Save a client that describes itself; it is public, so it gets no secret. Raises OAuthError."""
    if not isinstance(said, dict):
        raise OAuthError("The body must be a JSON object.", code="invalid_client_metadata")
    return OAuthClient.objects.create(
        client_id=f"client-{uuid.uuid4().hex}", name=name_in(said), redirect_uris=redirects_in(said)
    )


def name_in(said: Mapping[str, Any]) -> str:
    name = said.get("client_name")
    text = storable.text(name, most=NAME_CHARACTERS).strip() if isinstance(name, str) else ""
    return " ".join(text.split()) or "A program without a name"


def redirects_in(said: Mapping[str, Any]) -> list[str]:
    """Return the addresses that codes may be sent to. Raises BadRedirect."""
    given = said.get("redirect_uris")
    if not isinstance(given, list) or not 0 < len(given) <= limits.MAX_OAUTH_REDIRECTS:
        raise BadRedirect(f"`redirect_uris` must have 1 to {limits.MAX_OAUTH_REDIRECTS} addresses.")
    for address in given:
        check_address(address)
    return given


def check_address(address: Any) -> None:
    """Raise BadRedirect unless codes may be sent there: https, this machine, or an app's own scheme."""
    if not isinstance(address, str) or len(address) > limits.MAX_OAUTH_REDIRECT_CHARACTERS:
        raise BadRedirect("An address is missing or too long.")
    try:
        parts = urlsplit(address)
        host = netloc_host(parts.netloc)
    except ValueError:
        raise BadRedirect from None
    is_plain = parts.scheme == "http" and host not in LOOPBACK
    is_odd = not PRINTED.fullmatch(address) or not AUTHORITY.fullmatch(parts.netloc)
    if not parts.scheme or parts.fragment or is_plain or is_odd or parts.scheme in DANGEROUS:
        raise BadRedirect("Addresses must be https, of this machine, or of an app's own scheme.")


def check_redirect(client: OAuthClient, address: str) -> None:
    """Raise BadRedirect unless the client has named the address; the port of its own machine may differ."""
    if address not in client.redirect_uris and without_port(address) not in map(
        without_port, client.redirect_uris
    ):
        raise BadRedirect
    check_address(address)


def without_port(address: str) -> str:
    try:
        parts = urlsplit(address)
        host = netloc_host(parts.netloc)
    except ValueError:
        return address
    if parts.scheme != "http" or host not in LOOPBACK:
        return address
    return urlunsplit(parts._replace(netloc=host))


def netloc_host(netloc: str) -> str:
    """Return the host of an authority without its port; one with a user name is returned whole, and never matches."""
    return netloc if "@" in netloc else (netloc.rpartition(":")[0] if has_port(netloc) else netloc)


def has_port(netloc: str) -> bool:
    return netloc.rpartition(":")[2].isdecimal() and ":" in netloc
