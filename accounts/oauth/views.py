"""The pages and endpoints of OAuth: metadata, registration, consent, tokens, revocation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts import limits
from accounts.attempt_limits import Limit, count_try
from accounts.client_address import client_network
from accounts.errors import TooManyAttempts
from accounts.models import OAuthClient, User
from accounts.oauth import clients, grants
from accounts.oauth.errors import OAuthError
from accounts.oauth.grants import TokenPair
from accounts.oauth.texts import consent_texts

SCOPE = "mcp"
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
MAX_STATE_CHARACTERS = 2_000
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'self'"
)
View = Callable[[HttpRequest], HttpResponse]


def issuer() -> str:
    return str(settings.SITE_URL)


def resource() -> str:
    return f"{settings.SITE_URL}/mcp"


@require_GET
def protected_resource(request: HttpRequest) -> HttpResponse:
    """Say who signs people in for /mcp."""
    return public_json(
        {
            "resource": resource(),
            "authorization_servers": [issuer()],
            "scopes_supported": [SCOPE],
            "bearer_methods_supported": ["header"],
            "resource_name": "Ratchet",
        }
    )


@require_GET
def authorization_server(request: HttpRequest) -> HttpResponse:
    """Describe this authorization server."""
    base = issuer()
    return public_json(
        {
            "issuer": base,
            "authorization_endpoint": f"{base}/oauth/authorize",
            "token_endpoint": f"{base}/oauth/token",
            "registration_endpoint": f"{base}/oauth/register",
            "revocation_endpoint": f"{base}/oauth/revoke",
            "scopes_supported": [SCOPE],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": True,
            "authorization_response_iss_parameter_supported": True,
        }
    )


def public_json(body: Mapping[str, Any], status: int = 200) -> JsonResponse:
    headers = {"Cache-Control": "no-store", "Access-Control-Allow-Origin": "*"}
    return JsonResponse(body, status=status, headers=headers)


def answers_errors(view: View) -> View:
    """Answer errors in OAuth's shape."""

    @wraps(view)
    def answered(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except OAuthError as error:
            return public_json(error.body(), error.status)
        except TooManyAttempts as error:
            response = public_json({"error": "slow_down", "error_description": error.message}, 429)
            response["Retry-After"] = str(round(error.retry_after))
            return response

    return answered


@csrf_exempt
@require_POST
@answers_errors
def register(request: HttpRequest) -> HttpResponse:
    """Register a client that has no description of its own at an address."""
    most, window = limits.OAUTH_REGISTRATIONS_PER_ADDRESS, limits.OAUTH_REGISTRATION_WINDOW_SECONDS
    who = client_network(request)
    count_try([Limit(what="oauth client from", who=who, most=most, seconds=window)])
    if len(request.body) > limits.MAX_OAUTH_DESCRIPTION_BYTES:
        raise OAuthError("The body is too large.", code="invalid_client_metadata")
    try:
        said = json.loads(request.body)
    except (ValueError, RecursionError):
        raise OAuthError("The body is not valid JSON.", code="invalid_client_metadata") from None
    client = clients.register(said)
    body = {
        "client_id": client.client_id,
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "scope": SCOPE,
    }
    return public_json(body, 201)


# --- consent --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ConsentRequest:
    """What a client asks a person for, checked."""

    client: OAuthClient
    redirect_uri: str
    challenge: str
    state: str

    def answer(self, **fields: str) -> str:
        """Return the address that the browser goes back to."""
        parts = urlsplit(self.redirect_uri)
        said = {**fields, "iss": issuer(), **({"state": self.state} if self.state else {})}
        query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), *said.items()])
        return urlunsplit(parts._replace(query=query))

    @property
    def place(self) -> str:
        """Return where the answer goes, for the person and for the policy of the page."""
        parts = urlsplit(self.redirect_uri)
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"{parts.scheme}:"


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def authorize(request: HttpRequest) -> HttpResponse:
    """Ask the person whether the program may use their account, and send the browser back with the answer."""
    try:
        asked = read_consent(request.GET)
    except OAuthError as error:
        context = {"texts": consent_texts(request), "error": error.message}
        return render(request, "accounts/consent.html", context, status=400)
    if request.method == "GET":
        return show_consent(request, asked)
    assert isinstance(request.user, User), "the page requires a login"
    if request.POST.get("answer") != "allow":
        return go_back(asked, asked.answer(error="access_denied"))
    code = grants.allow(
        request.user, asked.client, challenge=asked.challenge, redirect_uri=asked.redirect_uri
    )
    return go_back(asked, asked.answer(code=code))


def read_consent(said: Mapping[str, str]) -> ConsentRequest:
    """Return what is asked; raise OAuthError, which is shown here and sent nowhere."""
    client = clients.find_client(said.get("client_id", ""))
    redirect_uri = said.get("redirect_uri", "")
    clients.check_redirect(client, redirect_uri)
    challenge, state = said.get("code_challenge", ""), said.get("state", "")
    if said.get("response_type") != "code":
        raise OAuthError("Only the response type `code` is supported.", code="unsupported_response_type")
    if said.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(challenge):
        raise OAuthError("PKCE with S256 is required.")
    if said.get("resource", resource()).rstrip("/") not in (resource(), issuer()):
        raise OAuthError("This server signs people in for its own /mcp only.", code="invalid_target")
    if len(state) > MAX_STATE_CHARACTERS:
        raise OAuthError("`state` is too long.")
    return ConsentRequest(client=client, redirect_uri=redirect_uri, challenge=challenge, state=state)


def show_consent(request: HttpRequest, asked: ConsentRequest) -> HttpResponse:
    context = {"texts": consent_texts(request), "asked": asked}
    response = render(request, "accounts/consent.html", context)
    response["Content-Security-Policy"] = f"{POLICY} {asked.place}"  # the form's answer is sent on to there
    return response


def go_back(asked: ConsentRequest, address: str) -> HttpResponse:
    return HttpResponse(status=303, headers={"Location": address, "Cache-Control": "no-store"})


# --- tokens ---------------------------------------------------------------------------------------


@csrf_exempt
@require_POST
@answers_errors
def token(request: HttpRequest) -> HttpResponse:
    """Exchange a code, or a refresh token, for new tokens."""
    said = request.POST
    client = clients.find_client(said.get("client_id", ""))
    match said.get("grant_type"):
        case "authorization_code":
            found = grants.exchange_code(
                client,
                said.get("code", ""),
                verifier=said.get("code_verifier", ""),
                redirect_uri=said.get("redirect_uri", ""),
            )
        case "refresh_token":
            found = grants.refresh(client, said.get("refresh_token", ""))
        case _:
            raise OAuthError("This grant type is not supported.", code="unsupported_grant_type")
    return public_json(token_body(found))


def token_body(found: TokenPair) -> dict[str, Any]:
    return {
        "access_token": found.access,
        "token_type": "Bearer",
        "expires_in": int(limits.OAUTH_ACCESS_SECONDS),
        "refresh_token": found.refresh,
        "scope": SCOPE,
    }


@csrf_exempt
@require_POST
@answers_errors
def revoke(request: HttpRequest) -> HttpResponse:
    """Take a token back; the answer does not say whether there was one."""
    client = clients.find_client(request.POST.get("client_id", ""))
    grants.revoke_token(client, request.POST.get("token", ""))
    return public_json({})
