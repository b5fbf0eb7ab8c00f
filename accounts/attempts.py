"""Limits on tries, such as wrong logins, counted in the database so that they hold over all processes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from accounts.errors import TooManyAttempts
from accounts.models import Attempt
from durable.limits import (
    LOGIN_WINDOW_SECONDS,
    SIGNUP_FORMS_PER_ADDRESS,
    SIGNUP_WINDOW_SECONDS,
    SIGNUPS_PER_ADDRESS,
    WRONG_LOGINS_PER_ADDRESS,
    WRONG_LOGINS_PER_NAME,
)


@dataclass(frozen=True, kw_only=True)
class Limit:
    """At most `most` tries of `what` in any `seconds`, for each `who`."""

    what: str
    who: str
    most: int
    seconds: float

    @property
    def key(self) -> str:
        """A hash, so that the table holds neither names nor addresses."""
        return hashlib.sha256(f"{self.what}\n{self.who}".encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class Tries:
    """Tries that were counted; a good one is given back."""

    ids: tuple[int, ...]

    def give_back(self) -> None:
        """It was a good try: do not hold it against anyone."""
        Attempt.objects.filter(pk__in=self.ids).delete()


def count_try(limits: Sequence[Limit]) -> Tries:
    """Count one try against every limit, or raise TooManyAttempts and count nothing.

    The try is written before anything is checked: of many at once, no more than the limit get through.
    """
    now = timezone.now()
    forget_old_tries()
    rows = [Attempt.objects.create(key=limit.key, created_at=now) for limit in limits]
    tries = Tries(tuple(row.pk for row in rows))
    waits = [wait_seconds(limit) for limit in limits]
    if any(waits):
        tries.give_back()
        raise TooManyAttempts(wait=max(waits))
    return tries


def wait_seconds(limit: Limit) -> float:
    """Until the next try of this limit is free; zero when this one is."""
    now, window = timezone.now(), timedelta(seconds=limit.seconds)
    recent = Attempt.objects.filter(key=limit.key, created_at__gt=now - window)
    times = list(recent.order_by("-created_at").values_list("created_at", flat=True)[: limit.most + 1])
    if len(times) <= limit.most:
        return 0.0
    return max((times[limit.most] + window - now).total_seconds(), 1.0)


def forget_old_tries() -> None:
    oldest = timezone.now() - timedelta(seconds=max(LOGIN_WINDOW_SECONDS, SIGNUP_WINDOW_SECONDS))
    Attempt.objects.filter(created_at__lt=oldest).delete()


def login_limits(*, username: str, network: str) -> list[Limit]:
    """By address and by name; a name nobody has counts like any other."""
    window = LOGIN_WINDOW_SECONDS
    return [
        Limit(what="login from", who=network, most=WRONG_LOGINS_PER_ADDRESS, seconds=window),
        Limit(what="login as", who=username.casefold(), most=WRONG_LOGINS_PER_NAME, seconds=window),
    ]


def signup_limits(*, network: str) -> list[Limit]:
    return [Limit(what="signup from", who=network, most=SIGNUPS_PER_ADDRESS, seconds=SIGNUP_WINDOW_SECONDS)]


def signup_form_limits(*, network: str) -> list[Limit]:
    """For every form that is sent, whether it makes an account or not."""
    return [
        Limit(
            what="signup form from", who=network, most=SIGNUP_FORMS_PER_ADDRESS, seconds=SIGNUP_WINDOW_SECONDS
        )
    ]


def password_limits(*, user_id: int) -> list[Limit]:
    """For the old password that a change asks for, wherever the person's session is used."""
    most, window = WRONG_LOGINS_PER_ADDRESS, LOGIN_WINDOW_SECONDS
    return [Limit(what="password of", who=str(user_id), most=most, seconds=window)]
