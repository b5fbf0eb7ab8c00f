"""What a person can do with their endpoints: make one, change it, give it a new secret."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import User
from accounts.sealing import seal, unseal
from boundary.errors import BlockedReason, BlockedUrl
from boundary.policy import policy_from_settings
from boundary.urls import parse_url
from durable import limits
from durable.retrying import in_transaction
from webhooks.errors import TooManyEndpoints
from webhooks.models import WebhookEndpoint

SECRET_BYTES = 32
PREFIX = "whsec_"


@dataclass(frozen=True, kw_only=True)
class WithSecret:
    """An endpoint with its secret: the answer to making one or changing it, and nowhere else."""

    endpoint: WebhookEndpoint
    secret: str


def create(user: User, *, url: str, events: list[str], description: str = "") -> WithSecret:
    """A new endpoint; raises BlockedUrl for an address that is never sent to."""
    check_url(url)
    secret = new_secret()

    @in_transaction
    def insert() -> WebhookEndpoint:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two at once cannot both be the last
        if WebhookEndpoint.objects.filter(user=user).count() >= limits.MAX_WEBHOOKS_PER_USER:
            raise TooManyEndpoints
        return WebhookEndpoint.objects.create(
            user=user, url=url, events=events, description=description, sealed_secret=seal(secret)
        )

    return WithSecret(endpoint=insert(), secret=secret)


def change(endpoint: WebhookEndpoint, **values: Any) -> WebhookEndpoint:
    """Change url, events, description or enabled; switched on again, its failures are forgotten."""
    if "url" in values:
        check_url(values["url"])
    if values.get("enabled"):
        values |= {"disabled_reason": "", "failing_since": None}
    for name, value in values.items():
        setattr(endpoint, name, value)
    endpoint.save(update_fields=list(values))
    return endpoint


def rotate(endpoint: WebhookEndpoint) -> WithSecret:
    """A new secret; for a day the old one signs as well, so that the receiver can change over in peace."""
    secret = new_secret()
    endpoint.sealed_old_secret = endpoint.sealed_secret
    endpoint.old_secret_until = timezone.now() + timedelta(seconds=limits.WEBHOOK_OLD_SECRET_SECONDS)
    endpoint.sealed_secret = seal(secret)
    endpoint.save(update_fields=["sealed_secret", "sealed_old_secret", "old_secret_until"])
    return WithSecret(endpoint=endpoint, secret=secret)


def secrets_of(endpoint: WebhookEndpoint) -> list[str]:
    """What a message is signed with now, the newest first. Raises CannotUnseal."""
    sealed = [endpoint.sealed_secret]
    if endpoint.old_secret_until is not None and endpoint.old_secret_until > timezone.now():
        sealed.append(endpoint.sealed_old_secret)
    return [unseal(token) for token in sealed]


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def check_url(url: str) -> None:
    """Refuse at once what would be refused at each try; where its name leads is looked at when something is sent."""
    target = parse_url(url)
    policy = policy_from_settings()
    policy.check_target(target)
    if target.scheme != "https" and target not in policy.allowed:
        raise BlockedUrl(BlockedReason.SCHEME, "Webhooks are sent over https only. Use an https:// address.")
