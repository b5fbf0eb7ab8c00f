"""Budgets: what a user has spent by day, and may still spend today and this month."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

from django.conf import settings
from django.db.models import Sum
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from accounts.errors import OverBudget
from accounts.ledger import SMALLEST, spent
from accounts.limits import MAX_USAGE_DAYS
from accounts.models import Budget, LedgerEntry, User

CREDITS_PER_DOLLAR = 100
SETTLING = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class Period:
    """The time range of a spending limit."""

    name: Literal["day", "month"]
    starts_at: datetime
    resets_at: datetime


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """A spending limit of a period, and how much of it is used. `limit` is None if unlimited."""

    period: Period
    limit: Decimal | None
    spent: Decimal

    @property
    def is_used_up(self) -> bool:
        return self.limit is not None and self.spent >= self.limit


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Dollars per day and per month; None is unlimited."""

    day: Decimal | None
    month: Decimal | None


def check_budget(user: User | None, *, as_read: bool = False) -> None:
    """Raise OverBudget if a limit is used up; call it before anything that costs. None means all visitors.

    With `as_read` the limits are those that were read together with the user, if they were.
    """
    known = known_limits(user) if as_read and user is not None else None
    limits = known or limits_of(user)
    if limits.day is None and limits.month is None:
        return
    for allowance in allowances(user, limits):
        if allowance.is_used_up:
            raise OverBudget(describe(allowance))


def allowances(user: User | None, limits: Limits | None = None) -> tuple[Allowance, Allowance]:
    """Return today's and this month's allowance."""
    now = timezone.now()
    limits = limits or limits_of(user)
    day, month = day_of(user, now), month_of(user, now)
    return (
        Allowance(period=day, limit=limits.day, spent=spent(user, day.starts_at)),
        Allowance(period=month, limit=limits.month, spent=spent(user, month.starts_at)),
    )


def limits_of(user: User | None) -> Limits:
    """Return the user's own limits, or the site's defaults; None means all visitors."""
    if user is None:
        return Limits(day=settings.COPILOT_VISITORS_DAY_BUDGET, month=None)
    return limits_in(Budget.objects.filter(user=user).first())


def known_limits(user: User) -> Limits | None:
    """Return the limits that were read with the user (`select_related("budget")`); None if they were not."""
    relation: Any = User._meta.get_field("budget")
    return limits_in(relation.get_cached_value(user)) if relation.is_cached(user) else None


def limits_in(own: Budget | None) -> Limits:
    if own is not None:
        return Limits(day=own.day_limit, month=own.month_limit)
    return Limits(day=settings.COPILOT_DAY_BUDGET, month=settings.COPILOT_MONTH_BUDGET)


def describe(allowance: Allowance) -> str:
    """Say which limit is used up, how much of it, and when it resets in the user's time zone."""
    period, limit = allowance.period, allowance.limit or Decimal(0)
    resets = period.resets_at
    return (
        f"Your budget for this {period.name} is used up: ${dollars(allowance.spent)} of ${dollars(limit)}. "
        f"It resets at {resets:%H:%M} on {resets:%A}, {resets.day} {resets:%B} {resets.year} ({resets.tzinfo})."
    )


def dollars(amount: Decimal) -> str:
    """Format with two decimals, or more if needed to be exact."""
    text = f"{amount:.6f}".rstrip("0")
    whole, _, cents = text.partition(".")
    return f"{whole}.{cents:0<2}"


# --- periods ---------------------------------------------------------------------------------------


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


# --- usage -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class UsageTotals:
    """Tokens and dollars."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)

    @property
    def credits(self) -> Decimal:
        return self.cost * CREDITS_PER_DOLLAR

    def __add__(self, other: UsageTotals) -> UsageTotals:
        return UsageTotals(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=self.cost + other.cost,
        )


@dataclass(frozen=True, kw_only=True)
class DayUsage:
    """The usage of one day in the user's time zone."""

    date: date
    usage: UsageTotals


def usage_by_day(user: User, days: int) -> list[DayUsage]:
    """Return one entry per day in the user's time zone, oldest first, including days without usage."""
    days = max(1, min(days, MAX_USAGE_DAYS))
    today = timezone.now().astimezone(user.zone).date()
    dates = [today - timedelta(days=back) for back in reversed(range(days))]
    rows = (
        LedgerEntry.objects.filter(user=user, created_at__gte=midnight(user, dates[0]))
        .annotate(date=TruncDate("created_at", tzinfo=zone_of(user)))
        .values("date")
        .order_by("date")
        .annotate(
            input=Coalesce(Sum("input_tokens"), 0),
            output=Coalesce(Sum("output_tokens"), 0),
            cost=Sum("amount"),
        )
    )
    found = {
        row["date"]: UsageTotals(
            input_tokens=row["input"], output_tokens=row["output"], cost=in_dollars(row["cost"])
        )
        for row in rows
    }
    return [DayUsage(date=day, usage=found.get(day, UsageTotals())) for day in dates]


def in_dollars(total: Decimal | None) -> Decimal:
    """Round a sum to the ledger's precision, because SQLite adds in floating point."""
    return (total or Decimal(0)).quantize(SMALLEST, rounding=ROUND_HALF_UP)
