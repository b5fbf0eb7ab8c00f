"""Budgets of API keys: what the answers asked for with a key have cost."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db.models import Sum
from django.utils import timezone

from accounts.budgets import Allowance, day_of, describe, in_dollars, month_of
from accounts.errors import OverBudget
from accounts.models import ApiKey, LedgerEntry
from chat.models import Turn
from executions.models import Execution


class KeyOverBudget(OverBudget):
    """The budget of this API key is used up."""

    hint = "Raise its budget on your account page, or wait until it resets."


def check_key_budget(key: ApiKey) -> None:
    """Raise KeyOverBudget if the key has spent its day's or month's limit. A key without limits costs no query."""
    for allowance in key_allowances(key):
        if allowance.is_used_up:
            raise KeyOverBudget(describe(allowance).replace("Your budget", "The budget of this API key", 1))


def key_allowances(key: ApiKey) -> list[Allowance]:
    """Return what is left of each limit that the key has."""
    now = timezone.now()
    limits = [(day_of(key.user, now), key.day_limit), (month_of(key.user, now), key.month_limit)]
    return [
        Allowance(period=period, limit=limit, spent=spent_with(key, period.starts_at))
        for period, limit in limits
        if limit is not None
    ]


def spent_with(key: ApiKey, since: datetime) -> Decimal:
    """Return what the turns, executions and embeddings asked for with this key have cost since then."""
    turns = Turn.objects.filter(api_key=key, queued_at__gte=since)
    executions = Execution.objects.filter(
        user_id=key.user_id, queued_at__gte=since, client_id__startswith=execution_prefix(key)
    )
    embeddings = LedgerEntry.objects.filter(
        user_id=key.user_id, created_at__gte=since, key__startswith=embedding_prefix(key)
    )
    totals = [rows.aggregate(total=Sum("cost"))["total"] for rows in (turns, executions)]
    totals.append(embeddings.aggregate(total=Sum("amount"))["total"])
    return sum(map(in_dollars, totals), Decimal(0))


def embedding_prefix(key: ApiKey) -> str:
    """Return how the ledger's key of each charge for embeddings begins that were asked for with this key."""
    return f"embeddings:{key.pk}:"


def execution_prefix(key: ApiKey) -> str:
    """Return how the client_id of each execution begins that was started with this key."""
    return f"v1:{key.pk}:"
