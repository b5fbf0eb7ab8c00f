"""What was used and charged."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Sum
from prometheus_client.core import CounterMetricFamily, Metric

from accounts.models import LedgerEntry


def collect() -> Iterator[Metric]:
    total = LedgerEntry.objects.aggregate(
        tokens_in=Sum("input_tokens"), tokens_out=Sum("output_tokens"), cost=Sum("amount")
    )
    tokens = CounterMetricFamily("ratchet_tokens", "Model tokens.", labels=["direction"])
    tokens.add_metric(["in"], total["tokens_in"] or 0)
    tokens.add_metric(["out"], total["tokens_out"] or 0)
    yield tokens
    cost = CounterMetricFamily("ratchet_cost_usd", "What was charged, in US dollars.")
    cost.add_metric([], float(total["cost"] or 0))
    yield cost
