"""Hourly sums of the ledger, so that a budget check does not read history.

Each charge is added to its hour in the transaction that writes its ledger entry, so the sums always match the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.db.models import F, Sum

from accounts.models import LedgerEntry, SpentHour, User
from durable.transactions import in_transaction

VISITORS = 0
MICROS = 1_000_000  # of a dollar: whole numbers add up exactly in every database
HOUR = timedelta(hours=1)


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
