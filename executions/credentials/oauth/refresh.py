"""Keeping a sign-in fresh: its access token is renewed before it ends, by one at a time."""

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
from executions.credentials.oauth.tokens import TokensRefused, trade_refresh_token
from executions.credentials.secrets import OAuthTokens, close_secret, open_secret
from executions.models import StoredCredential

logger = structlog.get_logger(__name__)


def fresh_tokens(credential: StoredCredential) -> OAuthTokens:
    """Tokens that hold for a while; raises SignInAgain, RefreshFailed, SecretUnreadable.

    Of many who ask at once one goes to the provider. The others use the old token while it still holds, and wait for
    the new one when it does not.
    """
    tokens = tokens_of(credential)
    if not ends_within(credential, limits.OAUTH_REFRESH_EARLY_SECONDS):
        return tokens
    if credential.signed_out_at is None and tokens.refresh_token:
        if take_turn(credential):
            return refresh(credential, tokens)
        return after_the_other(credential)
    if ends_within(credential, 0):
        raise sign_in_again(credential)
    return tokens


def tokens_of(credential: StoredCredential) -> OAuthTokens:
    secret = open_secret(credential)
    assert isinstance(secret, OAuthTokens), "the kind says what the secret is made of"
    return secret


def ends_within(credential: StoredCredential, seconds: float) -> bool:
    if credential.expires_at is None:
        return False  # the provider did not say, so it holds until it is refused
    return credential.expires_at <= timezone.now() + timedelta(seconds=seconds)


def sign_in_again(credential: StoredCredential) -> SignInAgain:
    return SignInAgain(
        f"The sign-in of {credential} has ended. Sign in again under credentials, then run it again."
    )


# --- one at a time ------------------------------------------------------------------------------


def take_turn(credential: StoredCredential) -> bool:
    """Hold the row for one refresh, as one conditional UPDATE; a holder that died loses it after a while."""
    now = timezone.now()
    free = Q(refreshing_until=None) | Q(refreshing_until__lte=now)
    same = StoredCredential.objects.filter(free, pk=credential.pk, secret=credential.secret)
    held: datetime = now + timedelta(seconds=limits.OAUTH_REFRESH_HOLD_SECONDS)
    return same.update(refreshing_until=held) == 1


def after_the_other(credential: StoredCredential) -> OAuthTokens:
    """What whoever refreshes now has got, as soon as it is needed; their place is taken when they have died."""

    def look() -> OAuthTokens | None:
        now = StoredCredential.objects.filter(pk=credential.pk).first()
        if now is None or (now.signed_out_at is not None and ends_within(now, 0)):
            raise sign_in_again(credential)
        if not ends_within(now, 0):
            return tokens_of(now)
        return refresh(now, tokens_of(now)) if take_turn(now) else None

    seconds = limits.OAUTH_REFRESH_HOLD_SECONDS + limits.OAUTH_SECONDS
    found = look() or wait_for(credential.pk, look, seconds=seconds)
    if found is None:
        raise RefreshFailed
    return found


def refresh(credential: StoredCredential, tokens: OAuthTokens) -> OAuthTokens:
    """Ask the provider and write down what it gave. No transaction is open meanwhile."""
    try:
        granted = trade_refresh_token(provider_named(credential.provider), tokens.refresh_token)
    except NoSuchProvider:
        release(credential)
        if not ends_within(credential, 0):
            return tokens
        raise RefreshFailed(
            f"Nobody has configured a sign-in for {credential.provider} any more, so it cannot be renewed."
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
    if not ends_within(credential, 0):
        return tokens  # it still holds; the next run tries again
    if refusal.for_good:
        raise sign_in_again(credential) from None
    raise RefreshFailed(f"The sign-in of {credential} could not be renewed. {refusal}") from None


def release(credential: StoredCredential, **changes: object) -> None:
    """Give the row back with what came of it, unless somebody else has written since; wake those who wait."""
    same = StoredCredential.objects.filter(pk=credential.pk, secret=credential.secret)
    same.update(refreshing_until=None, **changes)
    event_log.nudge(credential.pk)
