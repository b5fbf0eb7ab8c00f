"""The token endpoint of a provider: exchanging a code or a refresh token for tokens."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, quote

from django.utils import timezone

from boundary.errors import FetchError
from boundary.http import OutboundRequest, OutboundResponse, fetch
from executions import limits
from executions.credentials.oauth.providers import OAuthProvider

PERMANENT_ERRORS = frozenset({"invalid_grant", "bad_refresh_token", "invalid_token"})  # no retry will help
MAX_LIFETIME_SECONDS = 10 * 366 * 86_400


class TokensRefused(Exception):
    """The provider gave no tokens; `for_good` when retrying the same request cannot help."""

    def __init__(self, message: str, *, for_good: bool) -> None:
        super().__init__(message)
        self.for_good = for_good


@dataclass(frozen=True, kw_only=True)
class Granted:
    """The tokens a provider granted."""

    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    expires_at: datetime | None = None
    scopes: tuple[str, ...] | None = None  # None: those that were requested


def exchange_code(provider: OAuthProvider, *, code: str, verifier: str, redirect_uri: str) -> Granted:
    """Exchange the code of a completed sign-in for tokens; raises TokensRefused."""
    form = {"code": code, "code_verifier": verifier, "redirect_uri": redirect_uri}
    return request_tokens(provider, {"grant_type": "authorization_code"} | form)


def exchange_refresh_token(provider: OAuthProvider, refresh_token: str) -> Granted:
    """Exchange a refresh token for new tokens; raises TokensRefused."""
    return request_tokens(provider, {"grant_type": "refresh_token", "refresh_token": refresh_token})


def request_tokens(provider: OAuthProvider, form: Mapping[str, str]) -> Granted:
    headers = {"Accept": "application/json"}
    sent = dict(form) | {"client_id": provider.client_id}
    secret = provider.client_secret.get_secret_value()
    if provider.client_auth == "basic":
        headers["Authorization"] = basic(provider.client_id, secret)
    elif secret:
        sent["client_secret"] = secret
    request = OutboundRequest(
        url=provider.token_url,
        method="POST",
        headers=headers,
        form=sent,
        timeout=limits.OAUTH_SECONDS,
        max_bytes=limits.MAX_OAUTH_ANSWER_BYTES,
        follow_redirects=False,
    )
    try:
        response = fetch(request)
    except FetchError as error:
        raise TokensRefused(f"The provider could not be reached: {error}", for_good=False) from None
    return read(response, provider)


def basic(client_id: str, secret: str) -> str:
    """Return the Basic authorization header, both parts form-encoded first as RFC 6749 requires."""
    return (
        "Basic " + base64.b64encode(f"{quote(client_id, safe='')}:{quote(secret, safe='')}".encode()).decode()
    )


def read(response: OutboundResponse, provider: OAuthProvider) -> Granted:
    """Read a token response; an error may have status 200, and a response be form-encoded. Raises TokensRefused."""
    answer = parse(response)
    problem = str(answer.get("error") or "")
    if problem:
        description = str(answer.get("error_description") or problem)[:300]
        raise TokensRefused(f"The provider refused: {description}", for_good=problem in PERMANENT_ERRORS)
    access = answer.get("access_token")
    if response.status >= 400 or not isinstance(access, str) or not access:
        raise TokensRefused(
            f"The provider answered with status {response.status} and no readable token.", for_good=False
        )
    return Granted(
        access_token=access,
        refresh_token=str(answer.get("refresh_token") or ""),
        expires_at=expiry_of(answer.get("expires_in")),
        scopes=scopes_of(answer.get("scope"), provider.scope_separator),
    )


def parse(response: OutboundResponse) -> dict[str, Any]:
    text = response.body.decode("utf-8", "replace")
    if response.media_type == "application/x-www-form-urlencoded":
        return dict(parse_qsl(text))
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def expiry_of(seconds: object) -> datetime | None:
    """Return when the access token expires; None when the provider gave no lifetime."""
    try:
        lifetime = float(str(seconds))
    except ValueError:
        return None
    if not 0 < lifetime < MAX_LIFETIME_SECONDS:
        return None
    return timezone.now() + timedelta(seconds=lifetime)


def scopes_of(text: object, separator: str) -> tuple[str, ...] | None:
    if not isinstance(text, str) or not text:
        return None
    # GitHub takes spaces and answers commas.
    return tuple(text.replace(separator, " ").replace(",", " ").split())
