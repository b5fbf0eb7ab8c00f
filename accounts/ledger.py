"""The ledger: charges, made exactly once by key, and their hourly sums.

Each charge is added to its hour in the transaction that writes its entry, so the sums always match the ledger and a
budget check reads no history.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Protocol

from django.db import transaction
from django.db.models import F, Sum

from accounts.models import LedgerEntry, SpentHour, User
from durable import plain_sql
from durable.clock import current_time
from durable.database import in_transaction

SMALLEST = Decimal("0.000001")
LARGEST = Decimal("99999999.999999")
VISITORS = 0
MICROS = 1_000_000  # of a dollar: whole numbers add up exactly in every database
HOUR = timedelta(hours=1)


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
) -> bool:
    """Charge for the effect named `key`; False if it was charged already.

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


def checked_amount(amount: Decimal, *, allow_negative: bool = False) -> Decimal:
    """Return the amount rounded to six decimals; raises ValueError."""
    if not amount.is_finite() or abs(amount) > LARGEST or (amount < 0 and not allow_negative):
        raise ValueError(f"{amount} is not an amount that can be charged.")
    return amount.quantize(SMALLEST, rounding=ROUND_HALF_UP)


def checked_key(key: str) -> str:
    if not 0 < len(key) <= 200:
        raise ValueError("A ledger key has 1 to 200 characters.")
    return key


# --- hourly sums -----------------------------------------------------------------------------------


def add_spending(user_id: int | None, entries: Iterable[LedgerEntry]) -> None:
    """Add new entries of one user, all made at the same time; call it in the transaction that writes them."""
    charged = list(entries)
    micros = sum(in_micros(entry.amount) for entry in charged)
    if not micros:
        return
    account, hour = user_id or VISITORS, hour_of(charged[0].created_at)
    row = SpentHour.objects.filter(account=account, hour=hour)
    if not row.update(micros=F("micros") + micros):
        SpentHour.objects.bulk_create([SpentHour(account=account, hour=hour)], ignore_conflicts=True)
        row.update(micros=F("micros") + micros)


def spent(user: User | None, since: datetime) -> Decimal:
    """Return the dollars charged since that moment; None means all visitors together."""
    account = user.pk if user else VISITORS
    first = hour_of(since) if hour_of(since) == since else hour_of(since) + HOUR
    hours = SpentHour.objects.filter(account=account, hour__gte=first)
    micros = hours.aggregate(total=Sum("micros"))["total"] or 0
    if (
        first != since
    ):  # time zones that are not whole hours from UTC: read the rest of that hour from the ledger
        rest = LedgerEntry.objects.filter(user=user, created_at__gte=since, created_at__lt=first)
        micros += sum(in_micros(amount) for amount in rest.values_list("amount", flat=True))
    return Decimal(micros) / MICROS


@in_transaction
def rebuild_spending() -> None:
    """Recompute all sums from the ledger, after it was changed by hand."""
    sums: dict[tuple[int, datetime], int] = {}
    entries = LedgerEntry.objects.values_list("user_id", "created_at", "amount")
    for user_id, moment, amount in entries.iterator():
        key = (user_id or VISITORS, hour_of(moment))
        sums[key] = sums.get(key, 0) + in_micros(amount)
    SpentHour.objects.all().delete()
    rows = [SpentHour(account=account, hour=hour, micros=micros) for (account, hour), micros in sums.items()]
    SpentHour.objects.bulk_create(rows, batch_size=1_000)


def hour_of(moment: datetime) -> datetime:
    """Return the start of the moment's hour in UTC."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def in_micros(amount: Decimal) -> int:
    return int((amount * MICROS).to_integral_value())
