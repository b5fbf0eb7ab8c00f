"""Budgets: what a user may still spend today and this month."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Q, Sum
from django.utils import timezone

from accounts.charges import checked_amount, checked_key, in_dollars
from accounts.errors import OverBudget
from accounts.models import Budget, Hold, LedgerEntry, User
from accounts.periods import Period, day_of, month_of
from accounts.spent_hours import spent
from durable.limits import MAX_TURN_SECONDS
from durable.transactions import in_transaction


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """A spending limit of a period, and how much of it is used. `limit` is None if unlimited."""

    period: Period
    limit: Decimal | None
    spent: Decimal
    held: Decimal

    def has_room_for(self, amount: Decimal) -> bool:
        """Whether that much more fits; a used-up limit has no room even for zero."""
        if self.limit is None:
            return True
        taken = self.spent + self.held
        return taken < self.limit and taken + amount <= self.limit


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Dollars per day and per month; None is unlimited."""

    day: Decimal | None
    month: Decimal | None


def check_budget(user: User | None, *, as_read: bool = False) -> None:
    """Raise OverBudget if a limit is used up; call it before anything that costs. None means all visitors.

    With `as_read` the limits are those that were read together with the user, if they were.
    """
    require_room(user, Decimal(0), known_limits(user) if as_read and user is not None else None)


@in_transaction
def hold_once(*, user: User, key: str, amount: Decimal, seconds: float = MAX_TURN_SECONDS) -> bool:
    """Reserve `amount` for the effect named `key`; raises OverBudget if it does not fit.

    Concurrent holds never exceed the limit, because they lock the user's row. `charge_once` with the same key replaces
    the hold; one that is never charged expires after `seconds`. Returns False if the key was held or charged already.
    """
    now, amount = timezone.now(), checked_amount(amount)
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    Hold.objects.filter(user=user, expires_at__lte=now).delete()
    taken = Q(key=checked_key(key))
    if Hold.objects.filter(taken).exists() or LedgerEntry.objects.filter(taken).exists():
        return False
    require_room(user, amount)
    Hold.objects.create(user=user, key=key, amount=amount, expires_at=now + timedelta(seconds=seconds))
    return True


def release_hold(key: str) -> bool:
    """Release the hold of an effect that will not happen; False if there was none."""
    return Hold.objects.filter(key=key).delete()[0] > 0


def require_room(user: User | None, amount: Decimal, limits: Limits | None = None) -> None:
    limits = limits or limits_of(user)
    if limits.day is None and limits.month is None:
        return
    for allowance in allowances(user, limits):
        if not allowance.has_room_for(amount):
            raise OverBudget(describe(allowance))


def allowances(user: User | None, limits: Limits | None = None) -> tuple[Allowance, Allowance]:
    """Return today's and this month's allowance."""
    now = timezone.now()
    limits, held = limits or limits_of(user), money_held(user, now)
    day, month = day_of(user, now), month_of(user, now)
    return (
        Allowance(period=day, limit=limits.day, spent=spent(user, day.starts_at), held=held),
        Allowance(period=month, limit=limits.month, spent=spent(user, month.starts_at), held=held),
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


def money_held(user: User | None, now: datetime) -> Decimal:
    if user is None:
        return Decimal(0)
    holds = Hold.objects.filter(user=user, expires_at__gt=now)
    return in_dollars(holds.aggregate(total=Sum("amount"))["total"])


def describe(allowance: Allowance) -> str:
    """Say which limit is used up, how much of it, and when it resets in the user's time zone."""
    period, limit, taken = allowance.period, allowance.limit or Decimal(0), allowance.spent + allowance.held
    resets = period.resets_at
    return (
        f"Your budget for this {period.name} is used up: ${dollars(taken)} of ${dollars(limit)}. "
        f"It resets at {resets:%H:%M} on {resets:%A}, {resets.day} {resets:%B} {resets.year} ({resets.tzinfo})."
    )


def dollars(amount: Decimal) -> str:
    """Format with two decimals, or more if needed to be exact."""
    text = f"{amount:.6f}".rstrip("0")
    whole, _, cents = text.partition(".")
    return f"{whole}.{cents:0<2}"
