"""Renewal of OAuth2 access tokens before they expire, by one process at a time."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.db.models import Q
from django.utils import timezone

from durable import event_log
from durable.wait import wait_for
from executions import limits
from executions.credentials.errors import NoSuchProvider, RefreshFailed, SignInAgain
from executions.credentials.oauth.providers import provider_named
from executions.credentials.oauth.tokens import TokensRefused, exchange_refresh_token
from executions.credentials.secrets import OAuthTokens, close_secret, open_secret
from executions.models import StoredCredential

logger = structlog.get_logger(__name__)


def fresh_tokens(credential: StoredCredential) -> OAuthTokens:
    """Return tokens that stay valid for a while; raises SignInAgain, RefreshFailed, SecretUnreadable.

    Of concurrent callers one refreshes at the provider. The others use the old token until it expires, and then wait
    for the new one.
    """
    tokens = tokens_of(credential)
    if not expires_within(credential, limits.OAUTH_REFRESH_EARLY_SECONDS):
        return tokens
    if credential.signed_out_at is None and tokens.refresh_token:
        if lock_for_refresh(credential):
            return refresh(credential, tokens)
        return wait_for_refresh(credential)
    if expires_within(credential, 0):
        raise sign_in_again(credential)
    return tokens


def tokens_of(credential: StoredCredential) -> OAuthTokens:
    secret = open_secret(credential)
    assert isinstance(secret, OAuthTokens), "the kind says what the secret is made of"
    return secret


def expires_within(credential: StoredCredential, seconds: float) -> bool:
    if credential.expires_at is None:
        return False  # the provider gave no lifetime: the token is valid until it is refused
    return credential.expires_at <= timezone.now() + timedelta(seconds=seconds)


def sign_in_again(credential: StoredCredential) -> SignInAgain:
    return SignInAgain(
        f"The sign-in of {credential} has expired. Sign in again under credentials, then run it again."
    )


# --- one at a time ------------------------------------------------------------------------------


def lock_for_refresh(credential: StoredCredential) -> bool:
    """Lock the row for one refresh by a conditional UPDATE; the lock expires in case its holder dies."""
    now = timezone.now()
    free = Q(refreshing_until=None) | Q(refreshing_until__lte=now)
    same = StoredCredential.objects.filter(free, pk=credential.pk, secret=credential.secret)
    held: datetime = now + timedelta(seconds=limits.OAUTH_REFRESH_HOLD_SECONDS)
    return same.update(refreshing_until=held) == 1


def wait_for_refresh(credential: StoredCredential) -> OAuthTokens:
    """Return usable tokens: the old ones until they expire, then those of the refresh in progress, or our own."""

    def look() -> OAuthTokens | None:
        now = StoredCredential.objects.filter(pk=credential.pk).first()
        if now is None or (now.signed_out_at is not None and expires_within(now, 0)):
            raise sign_in_again(credential)
        if not expires_within(now, 0):
            return tokens_of(now)
        return refresh(now, tokens_of(now)) if lock_for_refresh(now) else None

    seconds = limits.OAUTH_REFRESH_HOLD_SECONDS + limits.OAUTH_SECONDS
    found = look() or wait_for(credential.pk, look, seconds=seconds)
    if found is None:
        raise RefreshFailed
    return found


def refresh(credential: StoredCredential, tokens: OAuthTokens) -> OAuthTokens:
    """Refresh the tokens at the provider and store them. No transaction is open meanwhile."""
    try:
        granted = exchange_refresh_token(provider_named(credential.provider), tokens.refresh_token)
    except NoSuchProvider:
        release(credential)
        if not expires_within(credential, 0):
            return tokens
        raise RefreshFailed(
            f"A sign-in for {credential.provider} is no longer configured, so it cannot be renewed. Ask an operator."
        ) from None
    except TokensRefused as refusal:
        return refused(credential, tokens, refusal)
    fresh = OAuthTokens(
        access_token=granted.access_token, refresh_token=granted.refresh_token or tokens.refresh_token
    )
    release(credential, secret=close_secret(fresh), expires_at=granted.expires_at)
    return fresh


def refused(credential: StoredCredential, tokens: OAuthTokens, refusal: TokensRefused) -> OAuthTokens:
    logger.warning("sign-in not renewed", credential=str(credential.pk), for_good=refusal.for_good)
    release(credential, **({"signed_out_at": timezone.now()} if refusal.for_good else {}))
    if not expires_within(credential, 0):
        return tokens  # still valid; the next run tries again
    if refusal.for_good:
        raise sign_in_again(credential) from None
    raise RefreshFailed(f"The sign-in of {credential} could not be renewed. {refusal}") from None


def release(credential: StoredCredential, **changes: object) -> None:
    """Unlock the row and store the changes, unless its secret was replaced meanwhile; wake the waiting callers."""
    same = StoredCredential.objects.filter(pk=credential.pk, secret=credential.secret)
    same.update(refreshing_until=None, **changes)
    event_log.nudge(credential.pk)
