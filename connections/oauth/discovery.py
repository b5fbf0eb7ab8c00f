"""Find where people sign in at a server: its resource metadata, then the metadata of its authorization server."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from boundary.errors import BlockedUrl, FetchError
from boundary.http import OutboundRequest, fetch
from boundary.urls import parse_url
from connections import limits
from connections.errors import ServerUnreachable, SignInImpossible

RESOURCE_WELL_KNOWN = "/.well-known/oauth-protected-resource"
SERVER_WELL_KNOWN = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
CHALLENGE_FIELD = re.compile(r'([A-Za-z_]{1,40})\s*=\s*(?:"([^"]{0,4000})"|([^\s,"]{1,4000}))')
OFFLINE = "offline_access"
S256 = "S256"


@dataclass(frozen=True, kw_only=True)
class AuthorizationServer:
    """Where and how people sign in. Tokens from here are sent to `resource` only, and renewed at `issuer` only."""

    issuer: str
    resource: str
    authorize_url: str
    token_url: str
    registration_url: str = ""
    scopes: tuple[str, ...] = ()
    takes_client_documents: bool = False
    names_issuer: bool = False  # its answers to the browser say which server they are from
    client_auth: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def parse(cls, stored: dict[str, Any]) -> AuthorizationServer:
        known = {name: stored[name] for name in cls.__dataclass_fields__ if name in stored}
        return cls(**known | {name: tuple(stored.get(name, ())) for name in ("scopes", "client_auth")})


def discover(url: str, challenge: str = "") -> AuthorizationServer:
    """Return where people sign in for the server at `url`; raises SignInImpossible, ServerUnreachable.

    `challenge` is the WWW-Authenticate header of its refusal. Every address goes through the boundary, and what a
    server says about another resource or issuer than its own is refused.
    """
    said = fields_of(challenge)
    metadata = resource_metadata(url, said.get("resource_metadata", ""))
    issuer, resource = origin_of(url), url
    scopes: tuple[str, ...] = ()
    if metadata is not None:
        issuer, resource = issuer_in(metadata), resource_in(metadata, url)
        scopes = texts(metadata.get("scopes_supported"))
    if wanted := said.get("scope", ""):
        scopes = tuple(wanted.split())
    return read_server(server_metadata(issuer), issuer=issuer, resource=resource, scopes=scopes)


def fields_of(challenge: str) -> dict[str, str]:
    """Return the parameters of a WWW-Authenticate header."""
    found = CHALLENGE_FIELD.findall(challenge[:20_000])
    return {name.lower(): quoted or plain for name, quoted, plain in found}


# --- the server's own metadata --------------------------------------------------------------------


def resource_metadata(url: str, named: str) -> dict[str, Any] | None:
    """Return the metadata that the server names, or has at the well-known places; None if it has none."""
    path = urlsplit(url).path.rstrip("/")
    places = [named] if named else []
    places += [f"{origin_of(url)}{RESOURCE_WELL_KNOWN}{part}" for part in dict.fromkeys((path, ""))]
    return next((found for place in places if (found := get_json(place)) is not None), None)


def issuer_in(metadata: dict[str, Any]) -> str:
    servers = texts(metadata.get("authorization_servers"))
    if not servers:
        raise SignInImpossible("The MCP server names no authorization server.")
    return checked_url(servers[0])


def resource_in(metadata: dict[str, Any], url: str) -> str:
    """Return the resource that tokens are for; raises SignInImpossible if it is not this server."""
    resource = metadata.get("resource")
    if not isinstance(resource, str) or not covers(resource, url):
        raise SignInImpossible(
            f"The MCP server says that sign-ins are for {str(resource)[:200]!r}, which is not its own address."
        )
    return resource


def covers(resource: str, url: str) -> bool:
    """Return whether a resource is the server's address or a folder above it, on the same origin."""
    try:
        same = parse_url(resource).origin == parse_url(url).origin
    except BlockedUrl:
        return False
    wanted, own = urlsplit(resource).path.rstrip("/"), urlsplit(url).path.rstrip("/")
    return same and (own == wanted or own.startswith(f"{wanted}/"))


# --- the authorization server's -------------------------------------------------------------------


def server_metadata(issuer: str) -> dict[str, Any]:
    """Return the metadata of an authorization server; raises SignInImpossible."""
    origin, path = origin_of(issuer), urlsplit(issuer).path.rstrip("/")
    places = [f"{origin}{place}{path}" for place in SERVER_WELL_KNOWN]
    if path:
        places.append(f"{origin}{path}{SERVER_WELL_KNOWN[1]}")
    for place in places:
        found = get_json(place)
        if found is not None:
            check_issuer(found, issuer)
            return found
    return {  # as servers had it before there was metadata
        "issuer": issuer,
        "authorization_endpoint": f"{origin}/authorize",
        "token_endpoint": f"{origin}/token",
        "registration_endpoint": f"{origin}/register",
        "code_challenge_methods_supported": [S256],
    }


def check_issuer(metadata: dict[str, Any], issuer: str) -> None:
    """Raise SignInImpossible if metadata speaks for another issuer than the one it was asked about."""
    if metadata.get("issuer") != issuer:
        raise SignInImpossible("The authorization server's metadata is that of another issuer.")


def read_server(
    metadata: dict[str, Any], *, issuer: str, resource: str, scopes: tuple[str, ...]
) -> AuthorizationServer:
    if S256 not in texts(metadata.get("code_challenge_methods_supported")):
        raise SignInImpossible("The authorization server does not support PKCE with S256, which is required.")
    if scopes and OFFLINE in texts(metadata.get("scopes_supported")) and OFFLINE not in scopes:
        scopes = (*scopes, OFFLINE)
    registration = metadata.get("registration_endpoint")
    return AuthorizationServer(
        issuer=issuer,
        resource=resource,
        authorize_url=checked_url(metadata.get("authorization_endpoint")),
        token_url=checked_url(metadata.get("token_endpoint")),
        registration_url=checked_url(registration) if registration else "",
        scopes=scopes,
        takes_client_documents=metadata.get("client_id_metadata_document_supported") is True,
        names_issuer=metadata.get("authorization_response_iss_parameter_supported") is True,
        client_auth=texts(metadata.get("token_endpoint_auth_methods_supported")),
    )


# --- reading --------------------------------------------------------------------------------------


def get_json(url: str) -> dict[str, Any] | None:
    """Return the JSON object at an address, or None; raises ServerUnreachable, SignInImpossible for a bad address."""
    wanted = OutboundRequest(
        url=url,
        headers={"Accept": "application/json"},
        timeout=limits.SERVER_REQUEST_SECONDS,
        max_bytes=limits.MAX_METADATA_BYTES,
    )
    try:
        response = fetch(wanted)
    except BlockedUrl as error:
        raise SignInImpossible(f"The sign-in names an address that may not be used. {error}") from None
    except FetchError as error:
        raise ServerUnreachable(str(error)) from None
    if response.status != 200:
        return None
    try:
        found = json.loads(response.body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def checked_url(value: object) -> str:
    """Return an http(s) address; raises SignInImpossible for anything that a browser would run or open otherwise."""
    try:
        return str(value) if parse_url(str(value)) else ""
    except BlockedUrl as error:
        raise SignInImpossible(f"The sign-in names an address that may not be used. {error}") from None


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def texts(value: object) -> tuple[str, ...]:
    return tuple(part for part in value if isinstance(part, str)) if isinstance(value, list) else ()
