"""Grants and their tokens: given by a person, exchanged once, renewed by rotation, revoked at once."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts import limits
from accounts.api_keys import PREFIX_BYTES, note_use, revoke_key
from accounts.models import ApiKey, OAuthClient, OAuthGrant, OAuthToken, User
from accounts.oauth.errors import InvalidGrant
from accounts.tokens import hash_token, new_token
from durable.database import in_transaction

ACCESS, REFRESH, CODE = "ro_", "rr_", "rc_"
Kind = OAuthToken.Kind
SECONDS = {
    Kind.CODE: limits.OAUTH_CODE_SECONDS,
    Kind.ACCESS: limits.OAUTH_ACCESS_SECONDS,
    Kind.REFRESH: limits.OAUTH_REFRESH_SECONDS,
}
PREFIXES = {Kind.CODE: CODE, Kind.ACCESS: ACCESS, Kind.REFRESH: REFRESH}


@dataclass(frozen=True, kw_only=True)
class TokenPair:
    """What a client gets; it cannot be read again."""

    access: str
    refresh: str


@in_transaction
def allow(user: User, client: OAuthClient, *, challenge: str, redirect_uri: str) -> str:
    """Write what the person has allowed; return the code that the client exchanges for tokens."""
    key = ApiKey.objects.create(
        user=user,
        name=client.name[:100],
        prefix=secrets.token_hex(PREFIX_BYTES),
        hash=hash_token(new_token()),  # of nothing that anybody has: only its tokens open the door
    )
    grant = OAuthGrant.objects.create(user=user, client=client, key=key)
    return issue(grant, Kind.CODE, challenge=challenge, redirect_uri=redirect_uri)


def issue(grant: OAuthGrant, kind: Kind, **fields: str) -> str:
    now = timezone.now()
    OAuthToken.objects.filter(expires_at__lt=now).delete()
    token = f"{PREFIXES[kind]}{new_token()}"
    expires_at = now + timedelta(seconds=SECONDS[kind])
    OAuthToken.objects.create(
        token_hash=hash_token(token), kind=kind, grant=grant, expires_at=expires_at, **fields
    )
    return token


def exchange_code(client: OAuthClient, code: str, *, verifier: str, redirect_uri: str) -> TokenPair:
    """Return tokens for a code, once. A code that comes a second time was stolen, so its grant is revoked."""
    row = live_token(code, Kind.CODE, client)
    if OAuthToken.objects.filter(pk=row.pk, used_at=None).update(used_at=timezone.now()) != 1:
        revoke(row.grant)
        raise InvalidGrant
    if row.redirect_uri != redirect_uri or not constant_time_compare(challenge_of(verifier), row.challenge):
        raise InvalidGrant("The code belongs to another request.")
    return pair(row.grant)


def refresh(client: OAuthClient, token: str) -> TokenPair:
    """Return new tokens for a refresh token; one that was used long ago was stolen, so its grant is revoked."""
    row = live_token(token, Kind.REFRESH, client)
    now = timezone.now()
    repeated_since = now - timedelta(seconds=limits.OAUTH_REPEAT_SECONDS)
    usable = OAuthToken.objects.filter(Q(used_at=None) | Q(used_at__gt=repeated_since), pk=row.pk)
    if not usable.exists():
        revoke(row.grant)
        raise InvalidGrant
    OAuthToken.objects.filter(pk=row.pk, used_at=None).update(used_at=now)
    return pair(row.grant)


@in_transaction
def pair(grant: OAuthGrant) -> TokenPair:
    return TokenPair(access=issue(grant, Kind.ACCESS), refresh=issue(grant, Kind.REFRESH))


def live_token(token: str, kind: Kind, client: OAuthClient) -> OAuthToken:
    """Return the row of a token of this client whose grant stands. Raises InvalidGrant."""
    rows = OAuthToken.objects.select_related("grant__key", "grant__user")
    found = rows.filter(
        token_hash=hash_token(token),
        kind=kind,
        grant__client=client,
        expires_at__gt=timezone.now(),
        grant__key__revoked_at=None,
        grant__user__is_active=True,
    ).first()
    if found is None:
        raise InvalidGrant
    return found


def key_of_token(token: str) -> ApiKey | None:
    """Return the key that an access token stands for, with its user, and record the use; None if it is not valid."""
    if not token.startswith(ACCESS):
        return None
    rows = OAuthToken.objects.select_related("grant__key__user")
    found = rows.filter(
        token_hash=hash_token(token),
        kind=Kind.ACCESS,
        expires_at__gt=timezone.now(),
        grant__key__revoked_at=None,
        grant__user__is_active=True,
    ).first()
    if found is None:
        return None
    note_use(found.grant.key)
    return found.grant.key


def revoke(grant: OAuthGrant) -> None:
    """End a grant at once: none of its tokens works any more. Idempotent."""
    revoke_key(grant.key)


def revoke_token(client: OAuthClient, token: str) -> None:
    """End the grant of a token that its client gives back; an unknown token is nothing."""
    rows = OAuthToken.objects.select_related("grant__key")
    found = rows.filter(token_hash=hash_token(token), grant__client=client).first()
    if found is not None:
        revoke(found.grant)


def challenge_of(verifier: str) -> str:
    """Return the S256 challenge of a verifier."""
    digest = hashlib.sha256(verifier.encode("ascii", "replace")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
