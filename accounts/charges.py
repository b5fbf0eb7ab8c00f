"""Charge effects exactly once by key, and sum charges by day."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Protocol

from django.db import transaction
from django.db.models import Sum
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from accounts.limits import MAX_USAGE_DAYS
from accounts.models import Hold, LedgerEntry, User
from accounts.periods import midnight, zone_of
from accounts.spent_hours import add_spending
from durable import plain_sql
from durable.clock import current_time

SMALLEST = Decimal("0.000001")
LARGEST = Decimal("99999999.999999")
CREDITS_PER_DOLLAR = 100


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


def charge_once(
    *,
    user_id: int | None,
    key: str,
    kind: str,
    amount: Decimal,
    input_tokens: int = 0,
    output_tokens: int = 0,
    job_id: uuid.UUID | None = None,
    description: str = "",
    held: bool = True,
) -> bool:
    """Charge for the effect named `key`; False if it was charged already. `held` is False if it cannot have a hold.

    Runs in the caller's transaction, so that the charge commits with the effect, or else in its own. The database skips
    a second charge (ON CONFLICT DO NOTHING), so the transaction stays usable on PostgreSQL. `user_id` is None for
    visitors.
    """
    entry = LedgerEntry(
        user_id=user_id,
        key=checked_key(key),
        kind=LedgerEntry.Kind(kind),
        amount=checked_amount(amount, allow_negative=kind == LedgerEntry.Kind.ADJUSTMENT),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        job_id=job_id,
        description=description[:200],
        created_at=current_time(),
    )
    with transaction.atomic(savepoint=False):
        created = plain_sql.insert([entry], on_conflict="DO NOTHING") == 1
        if held:
            Hold.objects.filter(key=key).delete()
        if created:
            add_spending(user_id, [entry])
    return created


class TokenCounts(Protocol):
    @property
    def input_tokens(self) -> int: ...

    @property
    def output_tokens(self) -> int: ...


class ModelAnswer(Protocol):
    """An answer of `model` that costs `cost` US dollars."""

    @property
    def model(self) -> str: ...

    @property
    def cost(self) -> Decimal: ...

    @property
    def usage(self) -> TokenCounts: ...


def charge_answer(
    answer: ModelAnswer,
    *,
    user_id: int | None,
    key: str,
    job_id: uuid.UUID | None = None,
    description: str = "",
) -> bool:
    """Charge once for a model's answer; the description defaults to the model's name."""
    return charge_once(
        user_id=user_id,
        key=key,
        kind=LedgerEntry.Kind.MODEL,
        amount=answer.cost,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        job_id=job_id,
        description=description or answer.model,
        held=False,
    )


@dataclass(frozen=True, kw_only=True)
class Charge:
    """The cost of one effect, which `key` identifies."""

    key: str
    kind: str
    amount: Decimal
    description: str = ""


def charge_all(charges: Sequence[Charge], *, user_id: int, job_id: uuid.UUID) -> None:
    """Charge for many effects of one job in one statement, skipping those charged already.

    Call it in the transaction of the effects, like `charge_once`.
    """
    now = current_time()
    entries = {
        entry.pk: entry
        for entry in (
            LedgerEntry(
                user_id=user_id,
                key=checked_key(charge.key),
                kind=LedgerEntry.Kind(charge.kind),
                amount=checked_amount(charge.amount),
                job_id=job_id,
                description=charge.description[:200],
                created_at=now,
            )
            for charge in charges
        )
    }
    with transaction.atomic(savepoint=False):
        LedgerEntry.objects.bulk_create(entries.values(), ignore_conflicts=True)
        written = LedgerEntry.objects.filter(pk__in=list(entries)).values_list("pk", flat=True)
        add_spending(user_id, [entries[pk] for pk in written])


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


def checked_amount(amount: Decimal, *, allow_negative: bool = False) -> Decimal:
    """Return the amount rounded to six decimals; raises ValueError."""
    if not amount.is_finite() or abs(amount) > LARGEST or (amount < 0 and not allow_negative):
        raise ValueError(f"{amount} is not an amount that can be charged.")
    return amount.quantize(SMALLEST, rounding=ROUND_HALF_UP)


def checked_key(key: str) -> str:
    if not 0 < len(key) <= 200:
        raise ValueError("A ledger key has 1 to 200 characters.")
    return key
