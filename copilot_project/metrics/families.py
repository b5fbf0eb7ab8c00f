"""How rows become metric families."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, DurationField, ExpressionWrapper, F, Q, QuerySet, Sum
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric

SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


def gauge(name: str, help: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, help)
    family.add_metric([], value)
    return family


def by_labels(name: str, help: str, rows: QuerySet[Any], labels: dict[str, str]) -> Metric:
    """How many rows there are for each combination; `labels` are the label and the column it comes from."""
    family = GaugeMetricFamily(name, help, labels=list(labels))
    columns = list(labels.values())
    for row in rows.values(*columns).annotate(count=Count("pk")).order_by():
        family.add_metric([str(row[column]) for column in columns], row["count"])
    return family


def durations(
    name: str, help: str, rows: QuerySet[Any], *, start: str, end: str, label: tuple[str, str] | None = None
) -> Metric:
    """A histogram of the time between two columns; `label` is a label and the column it comes from."""
    family = HistogramMetricFamily(name, help, labels=[label[0]] if label else [])
    took = ExpressionWrapper(F(end) - F(start), output_field=DurationField())
    buckets = {
        f"le_{n}": Count("pk", filter=Q(took__lte=timedelta(seconds=s))) for n, s in enumerate(SECONDS)
    }
    known = rows.filter(**{f"{start}__isnull": False, f"{end}__isnull": False}).annotate(took=took).order_by()
    totals = {"total": Sum("took"), "count": Count("pk")} | buckets
    groups = known.values(label[1]).annotate(**totals) if label else [known.aggregate(**totals)]
    for group in groups:
        found = [(str(edge), float(group[f"le_{n}"])) for n, edge in enumerate(SECONDS)]
        names = [str(group[label[1]])] if label else []
        total = group["total"] or timedelta()
        family.add_metric(names, [*found, ("+Inf", float(group["count"]))], total.total_seconds())
    return family


def age_of(first: datetime | None) -> float:
    """Seconds since a moment; 0 when there is none."""
    return (timezone.now() - first).total_seconds() if first else 0.0
