"""Days and months in a user's time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

from accounts.models import User

SETTLING = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class Period:
    """The time range of a spending limit."""

    name: Literal["day", "month"]
    starts_at: datetime
    resets_at: datetime


def day_of(user: User | None, now: datetime) -> Period:
    """Return today in the user's time zone.

    For a day after a change of time zone the 24 hours before the change count as well; otherwise changing it would
    start a new day, and a new budget, at will.
    """
    today = now.astimezone(zone_of(user)).date()
    starts_at = midnight(user, today)
    resets_at = midnight(user, today + timedelta(days=1))
    changed_at = user.time_zone_changed_at if user else None
    if changed_at and changed_at > now - SETTLING:
        starts_at = min(starts_at, changed_at - SETTLING)
        resets_at = max(resets_at, changed_at + SETTLING)
    return Period(name="day", starts_at=starts_at, resets_at=resets_at.astimezone(zone_of(user)))


def month_of(user: User | None, now: datetime) -> Period:
    """Return the current month in the user's time zone."""
    first = now.astimezone(zone_of(user)).date().replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return Period(name="month", starts_at=midnight(user, first), resets_at=midnight(user, following))


def midnight(user: User | None, day: date) -> datetime:
    """Return the start of that date in the user's time zone."""
    return datetime.combine(day, time.min, tzinfo=zone_of(user))


def zone_of(user: User | None) -> tzinfo:
    return user.zone if user else UTC
