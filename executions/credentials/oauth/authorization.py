"""Signing in: sending a person to the provider, and knowing them again when they come back."""

from __future__ import annotations

import base64
import hashlib
import secrets
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core import signing
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts.models import User
from executions import limits
from executions.credentials.actions import NewCredential, keep
from executions.credentials.bound_server import Binding, check_binding
from executions.credentials.errors import SignInRefused, SignInUnavailable
from executions.credentials.oauth.providers import OAuthProvider, provider_named
from executions.credentials.oauth.tokens import Granted, TokensRefused, trade_code
from executions.credentials.secrets import OAuthTokens, close_secret
from executions.models import StoredCredential

SALT = "executions.credentials.oauth"


@dataclass(frozen=True, kw_only=True)
class SignInRequest:
    """What the person wants: a new credential, or a new sign-in for one they have; `next` is a path of this site."""

    provider: str
    title: str = ""
    scopes: tuple[str, ...] = ()
    credential_id: str = ""
    next: str = ""


def authorize_url(user: User, session_key: str, wish: SignInRequest) -> str:
    """Where the person signs in. Nothing is stored: all that matters later is in the signed state.

    The state is worth something in this browser session, for ten minutes; the PKCE verifier is derived from it with
    the site's key, so it never leaves this site before the code is traded.
    """
    provider = provider_named(wish.provider)
    state = signing.dumps(
        {
            "nonce": secrets.token_urlsafe(24),
            "login": login_mark(user, session_key),
            "provider": wish.provider,
            "title": wish.title,
            "scopes": list(wish.scopes or provider.scopes),
            "credential_id": wish.credential_id,
            "next": wish.next,
        },
        salt=SALT,
        compress=True,
    )
    query = dict(provider.authorize_params) | {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": redirect_uri(wish.provider),
        "state": state,
        "code_challenge": challenge_of(verifier_of(state)),
        "code_challenge_method": "S256",
    }
    scopes = provider.scope_separator.join(wish.scopes or provider.scopes)
    if scopes:
        query["scope"] = scopes
    joint = "&" if urlsplit(provider.authorize_url).query else "?"
    return f"{provider.authorize_url}{joint}{urlencode(query)}"


def read_state(user: User, session_key: str, name: str, state: str) -> SignInRequest:
    """What was wished when the person left; raises SignInRefused unless it is they who come back, in time."""
    try:
        said: dict[str, Any] = signing.loads(
            state, salt=SALT, max_age=timedelta(seconds=limits.OAUTH_STATE_SECONDS)
        )
    except signing.SignatureExpired:
        raise SignInRefused("The sign-in took too long.") from None
    except signing.BadSignature:
        raise SignInRefused("This sign-in was not started here.") from None
    if said["provider"] != name or not constant_time_compare(said["login"], login_mark(user, session_key)):
        raise SignInRefused("This sign-in was started in another browser session.")
    return SignInRequest(
        provider=name,
        title=said["title"],
        scopes=tuple(said["scopes"]),
        credential_id=said["credential_id"],
        next=said["next"],
    )


def finish(user: User, wish: SignInRequest, *, code: str, state: str) -> StoredCredential:
    """Trade the code and keep the tokens; raises SignInRefused, SignInUnavailable. A code is worth one credential."""
    provider = provider_named(wish.provider)
    try:
        granted = trade_code(
            provider, code=code, verifier=verifier_of(state), redirect_uri=redirect_uri(wish.provider)
        )
    except TokensRefused as refusal:
        raise (SignInRefused if refusal.for_good else SignInUnavailable)(str(refusal)) from None
    known = own_sign_in(user, wish)
    return (
        renew(known, provider, wish, granted)
        if known
        else keep(user, new_credential(provider, wish, granted))
    )


def own_sign_in(user: User, wish: SignInRequest) -> StoredCredential | None:
    """The credential that is to be signed in again; None when a new one is wanted, or that one is gone."""
    if not wish.credential_id:
        return None
    own = StoredCredential.objects.filter(
        user=user, provider=wish.provider, kind=StoredCredential.Kind.OAUTH2
    )
    return own.filter(pk=uuid.UUID(wish.credential_id)).first()


def new_credential(provider: OAuthProvider, wish: SignInRequest, granted: Granted) -> NewCredential:
    return NewCredential(
        provider=wish.provider,
        kind=StoredCredential.Kind.OAUTH2,
        secret=OAuthTokens(access_token=granted.access_token, refresh_token=granted.refresh_token),
        title=wish.title or provider.title,
        host=provider.host,
        scopes=wish.scopes if granted.scopes is None else granted.scopes,
        expires_at=granted.expires_at,
    )


def renew(
    known: StoredCredential, provider: OAuthProvider, wish: SignInRequest, granted: Granted
) -> StoredCredential:
    new = new_credential(provider, wish, granted)
    known.secret = close_secret(new.secret)
    known.scopes = list(new.scopes)
    known.expires_at, known.signed_out_at, known.refreshing_until = new.expires_at, None, None
    written = ["secret", "scopes", "expires_at", "signed_out_at", "refreshing_until"]
    if new.host:  # else its owner may have bound it
        binding = check_binding(new.kind, new.provider, Binding(host=new.host))
        known.host, known.port = binding.host, binding.port
        written += ["host", "port"]
    known.save(update_fields=written)
    return known


def redirect_uri(provider: str) -> str:
    """What the provider must know as this site's address."""
    return f"{settings.SITE_URL}{reverse('credential-oauth-callback', args=[provider])}"


def login_mark(user: User, session_key: str) -> str:
    """Says who is logged in where, without saying it to the provider."""
    return salted_hmac(SALT, f"{user.pk}:{session_key}", algorithm="sha256").hexdigest()


def verifier_of(state: str) -> str:
    digest = salted_hmac(f"{SALT}.verifier", state, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
