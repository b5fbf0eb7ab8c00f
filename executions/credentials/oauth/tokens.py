"""The token address of a provider: trading a code or a refresh token for tokens."""

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

LOST = frozenset({"invalid_grant", "bad_refresh_token", "invalid_token"})  # no retry will help
LONGEST_LIFE_SECONDS = 10 * 366 * 86_400


class TokensRefused(Exception):
    """The provider gave no tokens; `for_good` when it never will for what was sent."""

    def __init__(self, message: str, *, for_good: bool) -> None:
        super().__init__(message)
        self.for_good = for_good


@dataclass(frozen=True, kw_only=True)
class Granted:
    """What the provider gave."""

    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    expires_at: datetime | None = None
    scopes: tuple[str, ...] | None = None  # None: those that were asked for


def trade_code(provider: OAuthProvider, *, code: str, verifier: str, redirect_uri: str) -> Granted:
    """The tokens of a person who just came back; raises TokensRefused."""
    form = {"code": code, "code_verifier": verifier, "redirect_uri": redirect_uri}
    return ask(provider, {"grant_type": "authorization_code"} | form)


def trade_refresh_token(provider: OAuthProvider, refresh_token: str) -> Granted:
    """New tokens for an old sign-in; raises TokensRefused."""
    return ask(provider, {"grant_type": "refresh_token", "refresh_token": refresh_token})


def ask(provider: OAuthProvider, form: Mapping[str, str]) -> Granted:
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
    """Both parts in form encoding first, as RFC 6749 wants it."""
    return (
        "Basic " + base64.b64encode(f"{quote(client_id, safe='')}:{quote(secret, safe='')}".encode()).decode()
    )


def read(response: OutboundResponse, provider: OAuthProvider) -> Granted:
    """What an answer says; an error may come with status 200, and the answer as a form."""
    answer = parse(response)
    problem = str(answer.get("error") or "")
    if problem:
        words = str(answer.get("error_description") or problem)[:300]
        raise TokensRefused(f"The provider refused: {words}", for_good=problem in LOST)
    access = answer.get("access_token")
    if response.status >= 400 or not isinstance(access, str) or not access:
        raise TokensRefused(
            f"The provider answered {response.status}, without a token that can be read.", for_good=False
        )
    return Granted(
        access_token=access,
        refresh_token=str(answer.get("refresh_token") or ""),
        expires_at=end_of(answer.get("expires_in")),
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


def end_of(seconds: object) -> datetime | None:
    """When the access token ends; None when the provider did not say."""
    try:
        life = float(str(seconds))
    except ValueError:
        return None
    if not 0 < life < LONGEST_LIFE_SECONDS:
        return None
    return timezone.now() + timedelta(seconds=life)


def scopes_of(text: object, separator: str) -> tuple[str, ...] | None:
    if not isinstance(text, str) or not text:
        return None
    return tuple(part for part in text.replace(separator, " ").split() if part)
