"""The client that this site is at an authorization server: given by an operator, a document, or registered."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.urls import reverse

from boundary.errors import FetchError
from boundary.http import OutboundRequest, fetch
from connections import limits
from connections.errors import ServerUnreachable, SignInImpossible
from connections.oauth.discovery import AuthorizationServer

BASIC, POST, NONE = "client_secret_basic", "client_secret_post", "none"


@dataclass(frozen=True, kw_only=True)
class RegisteredClient:
    """Who we are at the token endpoint."""

    client_id: str
    client_secret: str = field(default="", repr=False)
    auth: str = NONE


def client_metadata() -> dict[str, Any]:
    """Return what this site says about itself as a client."""
    return {
        "client_name": "Ratchet",
        "client_uri": settings.SITE_URL,
        "redirect_uris": [redirect_uri()],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": NONE,
        "application_type": "web",
    }


def redirect_uri() -> str:
    return f"{settings.SITE_URL}{reverse('connection-oauth-callback')}"


def document_url() -> str:
    """Return the address of the document that describes this site as a client."""
    return f"{settings.SITE_URL}{reverse('connection-client-document')}"


def client_at(server: AuthorizationServer) -> RegisteredClient:
    """Return our client at an authorization server, registering it if need be; raises SignInImpossible."""
    if server.takes_client_documents and settings.SITE_URL.startswith("https://"):
        return RegisteredClient(client_id=document_url())
    if not server.registration_url:
        raise SignInImpossible(
            "The authorization server registers no clients by itself. Ask an operator to enter a client id."
        )
    return register(server)


def register(server: AuthorizationServer) -> RegisteredClient:
    """Register this site as a client; raises SignInImpossible, ServerUnreachable."""
    auth = chosen_auth(server.client_auth)
    wanted = OutboundRequest(
        url=server.registration_url,
        method="POST",
        headers={"Accept": "application/json"},
        json=client_metadata() | {"token_endpoint_auth_method": auth},
        timeout=limits.SERVER_REQUEST_SECONDS,
        max_bytes=limits.MAX_METADATA_BYTES,
        follow_redirects=False,
    )
    try:
        response = fetch(wanted)
        found = json.loads(response.body)
    except FetchError as error:
        raise ServerUnreachable(str(error)) from None
    except (ValueError, RecursionError):
        found = None
    client_id = found.get("client_id") if isinstance(found, dict) else None
    if response.status not in (200, 201) or not isinstance(client_id, str) or not client_id:
        raise SignInImpossible("The authorization server refused to register this site as a client.")
    assert isinstance(found, dict)
    return RegisteredClient(
        client_id=client_id,
        client_secret=str(found.get("client_secret") or ""),
        auth=str(found.get("token_endpoint_auth_method") or auth),
    )


def chosen_auth(supported: tuple[str, ...]) -> str:
    """Return how we show who we are: without a secret where that is possible."""
    for method in (NONE, BASIC, POST):
        if method in supported:
            return method
    return BASIC if supported else NONE
