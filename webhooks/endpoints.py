"""Actions on endpoints: create one, change it, rotate its secret, disable one that fails for days."""

from __future__ import annotations

import base64
import secrets
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import User
from boundary.errors import BlockedReason, BlockedUrl
from boundary.policy import policy_from_settings
from boundary.urls import parse_url
from durable.database import in_transaction
from durable.encryption import seal, unseal
from webhooks import limits
from webhooks.errors import TooManyEndpoints
from webhooks.models import WebhookEndpoint

SECRET_BYTES = 32
PREFIX = "whsec_"
GONE = "The receiver answered 410 Gone: it no longer wants webhooks."
FAILED_FOR_DAYS = "Every attempt has failed for {days} days."


@dataclass(frozen=True, kw_only=True)
class WithSecret:
    """An endpoint with its secret, which is shown only after creation and rotation."""

    endpoint: WebhookEndpoint
    secret: str


def create(user: User, *, url: str, events: list[str], description: str = "") -> WithSecret:
    """Create an endpoint; raises BlockedUrl or TooManyEndpoints."""
    check_url(url)
    secret = new_secret()

    @in_transaction
    def insert() -> WebhookEndpoint:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # serializes concurrent calls
        if WebhookEndpoint.objects.filter(user=user).count() >= limits.MAX_WEBHOOKS_PER_USER:
            raise TooManyEndpoints
        return WebhookEndpoint.objects.create(
            user=user, url=url, events=events, description=description, sealed_secret=seal(secret)
        )

    return WithSecret(endpoint=insert(), secret=secret)


def change(endpoint: WebhookEndpoint, **values: Any) -> WebhookEndpoint:
    """Change url, events, description or enabled; enabling resets its failures. Raises BlockedUrl."""
    if "url" in values:
        check_url(values["url"])
    if values.get("enabled"):
        values |= {"disabled_reason": "", "failing_since": None}
    for name, value in values.items():
        setattr(endpoint, name, value)
    endpoint.save(update_fields=list(values))
    return endpoint


def rotate(endpoint: WebhookEndpoint) -> WithSecret:
    """Create a new secret; for a day messages are signed with the old one as well."""
    secret = new_secret()
    endpoint.sealed_old_secret = endpoint.sealed_secret
    endpoint.old_secret_until = timezone.now() + timedelta(seconds=limits.WEBHOOK_OLD_SECRET_SECONDS)
    endpoint.sealed_secret = seal(secret)
    endpoint.save(update_fields=["sealed_secret", "sealed_old_secret", "old_secret_until"])
    return WithSecret(endpoint=endpoint, secret=secret)


def secrets_of(endpoint: WebhookEndpoint) -> list[str]:
    """Return the secrets that sign messages now, newest first; raises CannotUnseal."""
    sealed = [endpoint.sealed_secret]
    if endpoint.old_secret_until is not None and endpoint.old_secret_until > timezone.now():
        sealed.append(endpoint.sealed_old_secret)
    return [unseal(token) for token in sealed]


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def check_url(url: str) -> None:
    """Raise BlockedUrl for a URL that no attempt could send to; host names are resolved only when sending."""
    target = parse_url(url)
    policy = policy_from_settings()
    policy.check_target(target)
    if target.scheme != "https" and target not in policy.allowed:
        raise BlockedUrl(BlockedReason.SCHEME, "Webhooks are sent over https only. Use an https:// address.")


def note_success(endpoint_id: uuid.UUID) -> None:
    """Reset the failures; call it in the transaction that records the attempt."""
    failing = WebhookEndpoint.objects.filter(pk=endpoint_id).exclude(failing_since=None)
    failing.update(failing_since=None)


def note_failure(endpoint_id: uuid.UUID, *, gone: bool) -> None:
    """Record a failure in the attempt's transaction; disable the endpoint at once if gone, or after days."""
    endpoint = WebhookEndpoint.objects.select_for_update(no_key=True).get(pk=endpoint_id)
    now = timezone.now()
    endpoint.failing_since = endpoint.failing_since or now
    days = timedelta(seconds=limits.WEBHOOK_DISABLE_SECONDS)
    if gone:
        disable(endpoint, GONE)
    elif now - endpoint.failing_since >= days:
        disable(endpoint, FAILED_FOR_DAYS.format(days=days.days))
    endpoint.save(update_fields=["failing_since", "enabled", "disabled_reason"])


def disable(endpoint: WebhookEndpoint, reason: str) -> None:
    """Disable the endpoint with a reason; one that is disabled keeps its first reason."""
    if endpoint.enabled:
        endpoint.enabled, endpoint.disabled_reason = False, reason
