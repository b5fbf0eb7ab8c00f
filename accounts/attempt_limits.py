"""Limits on attempts such as wrong logins, counted in the database so that all processes share them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from accounts.errors import TooManyAttempts
from accounts.limits import (
    LOGIN_WINDOW_SECONDS,
    SIGNUP_FORMS_PER_ADDRESS,
    SIGNUP_WINDOW_SECONDS,
    SIGNUPS_PER_ADDRESS,
    WRONG_LOGINS_PER_ADDRESS,
    WRONG_LOGINS_PER_NAME,
)
from accounts.models import CountedAttempt


@dataclass(frozen=True, kw_only=True)
class Limit:
    """At most `most` attempts of `what` in any `seconds`, for each `who`."""

    what: str
    who: str
    most: int
    seconds: float

    @property
    def key(self) -> str:
        """A hash, so that the table stores neither names nor addresses."""
        return hashlib.sha256(f"{self.what}\n{self.who}".encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class CountedTries:
    """Counted attempts; successful ones are removed again."""

    ids: tuple[int, ...]

    def give_back(self) -> None:
        """Remove the attempts from the count."""
        CountedAttempt.objects.filter(pk__in=self.ids).delete()


def count_try(limits: Sequence[Limit]) -> CountedTries:
    """Count one attempt against every limit, or raise TooManyAttempts and count nothing.

    The attempt is written before the check, so that of many concurrent ones no more than the limit pass.
    """
    now = timezone.now()
    forget_old_tries()
    rows = [CountedAttempt.objects.create(key=limit.key, created_at=now) for limit in limits]
    tries = CountedTries(tuple(row.pk for row in rows))
    waits = [wait_seconds(limit) for limit in limits]
    if any(waits):
        tries.give_back()
        raise TooManyAttempts(retry_after=max(waits))
    return tries


def wait_seconds(limit: Limit) -> float:
    """Return the seconds until the limit allows another attempt; zero if it allows this one."""
    now, window = timezone.now(), timedelta(seconds=limit.seconds)
    recent = CountedAttempt.objects.filter(key=limit.key, created_at__gt=now - window)
    times = list(recent.order_by("-created_at").values_list("created_at", flat=True)[: limit.most + 1])
    if len(times) <= limit.most:
        return 0.0
    return max((times[limit.most] + window - now).total_seconds(), 1.0)


def forget_old_tries() -> None:
    oldest = timezone.now() - timedelta(seconds=max(LOGIN_WINDOW_SECONDS, SIGNUP_WINDOW_SECONDS))
    CountedAttempt.objects.filter(created_at__lt=oldest).delete()


def login_limits(*, username: str, network: str) -> list[Limit]:
    """Return the limits by address and by name; unknown names count too."""
    window = LOGIN_WINDOW_SECONDS
    return [
        Limit(what="login from", who=network, most=WRONG_LOGINS_PER_ADDRESS, seconds=window),
        Limit(what="login as", who=username.casefold(), most=WRONG_LOGINS_PER_NAME, seconds=window),
    ]


def signup_limits(*, network: str) -> list[Limit]:
    return [Limit(what="signup from", who=network, most=SIGNUPS_PER_ADDRESS, seconds=SIGNUP_WINDOW_SECONDS)]


def signup_form_limits(*, network: str) -> list[Limit]:
    """Return the limit for sent forms, whether or not they create an account."""
    return [
        Limit(
            what="signup form from", who=network, most=SIGNUP_FORMS_PER_ADDRESS, seconds=SIGNUP_WINDOW_SECONDS
        )
    ]


def password_limits(*, user_id: int) -> list[Limit]:
    """Return the limit for the old password in a password change, from any address."""
    most, window = WRONG_LOGINS_PER_ADDRESS, LOGIN_WINDOW_SECONDS
    return [Limit(what="password of", who=str(user_id), most=most, seconds=window)]
