"""The OAuth2 authorization code flow: redirect to the provider, and check of the returning user."""

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
from executions.credentials.actions import NewCredential, add_credential
from executions.credentials.bound_server import Binding, check_binding
from executions.credentials.errors import SignInRefused, SignInUnavailable
from executions.credentials.oauth.providers import OAuthProvider, provider_named
from executions.credentials.oauth.tokens import Granted, TokensRefused, exchange_code
from executions.credentials.secrets import OAuthTokens, close_secret
from executions.models import StoredCredential

SALT = "executions.credentials.oauth"


@dataclass(frozen=True, kw_only=True)
class SignInRequest:
    """A sign-in to start: for a new credential or an existing one; `next` is a path of this site to return to."""

    provider: str
    title: str = ""
    scopes: tuple[str, ...] = ()
    credential_id: str = ""
    next: str = ""


def authorize_url(user: User, session_key: str, sign_in: SignInRequest) -> str:
    """Return the provider's sign-in page. Nothing is stored: the signed state carries everything needed later.

    The state is valid in this browser session only, for ten minutes. The PKCE verifier is derived from it with the
    site's key, so it does not leave this site before the code is exchanged.
    """
    provider = provider_named(sign_in.provider)
    state = signing.dumps(
        {
            "nonce": secrets.token_urlsafe(24),
            "login": session_hash(user, session_key),
            "provider": sign_in.provider,
            "title": sign_in.title,
            "scopes": list(sign_in.scopes or provider.scopes),
            "credential_id": sign_in.credential_id,
            "next": sign_in.next,
        },
        salt=SALT,
        compress=True,
    )
    query = dict(provider.authorize_params) | {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": redirect_uri(sign_in.provider),
        "state": state,
        "code_challenge": challenge_of(verifier_of(state)),
        "code_challenge_method": "S256",
    }
    scopes = provider.scope_separator.join(sign_in.scopes or provider.scopes)
    if scopes:
        query["scope"] = scopes
    joint = "&" if urlsplit(provider.authorize_url).query else "?"
    return f"{provider.authorize_url}{joint}{urlencode(query)}"


def read_state(user: User, session_key: str, name: str, state: str) -> SignInRequest:
    """Return the sign-in that was started; raises SignInRefused when the state is expired or of another session."""
    try:
        said: dict[str, Any] = signing.loads(
            state, salt=SALT, max_age=timedelta(seconds=limits.OAUTH_STATE_SECONDS)
        )
    except signing.SignatureExpired:
        raise SignInRefused("The sign-in took too long.") from None
    except signing.BadSignature:
        raise SignInRefused("This sign-in was not started here.") from None
    if said["provider"] != name or not constant_time_compare(said["login"], session_hash(user, session_key)):
        raise SignInRefused("This sign-in was started in another browser session.")
    return SignInRequest(
        provider=name,
        title=said["title"],
        scopes=tuple(said["scopes"]),
        credential_id=said["credential_id"],
        next=said["next"],
    )


def finish(user: User, sign_in: SignInRequest, *, code: str, state: str) -> StoredCredential:
    """Exchange the code and store the tokens; raises SignInRefused, SignInUnavailable. A code works once."""
    provider = provider_named(sign_in.provider)
    try:
        granted = exchange_code(
            provider, code=code, verifier=verifier_of(state), redirect_uri=redirect_uri(sign_in.provider)
        )
    except TokensRefused as refusal:
        raise (SignInRefused if refusal.for_good else SignInUnavailable)(str(refusal)) from None
    known = own_sign_in(user, sign_in)
    return (
        renew(known, provider, sign_in, granted)
        if known
        else add_credential(user, new_credential(provider, sign_in, granted))
    )


def own_sign_in(user: User, sign_in: SignInRequest) -> StoredCredential | None:
    """Return the credential to sign in again; None when a new one is wanted, or that one was deleted."""
    if not sign_in.credential_id:
        return None
    own = StoredCredential.objects.filter(
        user=user, provider=sign_in.provider, kind=StoredCredential.Kind.OAUTH2
    )
    return own.filter(pk=uuid.UUID(sign_in.credential_id)).first()


def new_credential(provider: OAuthProvider, sign_in: SignInRequest, granted: Granted) -> NewCredential:
    return NewCredential(
        provider=sign_in.provider,
        kind=StoredCredential.Kind.OAUTH2,
        secret=OAuthTokens(access_token=granted.access_token, refresh_token=granted.refresh_token),
        title=sign_in.title or provider.title,
        host=provider.host,
        scopes=sign_in.scopes if granted.scopes is None else granted.scopes,
        expires_at=granted.expires_at,
    )


def renew(
    known: StoredCredential, provider: OAuthProvider, sign_in: SignInRequest, granted: Granted
) -> StoredCredential:
    new = new_credential(provider, sign_in, granted)
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
    """Return the redirect URI to register at the provider."""
    return f"{settings.SITE_URL}{reverse('credential-oauth-callback', args=[provider])}"


def session_hash(user: User, session_key: str) -> str:
    """Return a hash that identifies user and session without revealing them to the provider."""
    return salted_hmac(SALT, f"{user.pk}:{session_key}", algorithm="sha256").hexdigest()


def verifier_of(state: str) -> str:
    digest = salted_hmac(f"{SALT}.verifier", state, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
