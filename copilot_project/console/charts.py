"""Small charts of the last day, one bar an hour, as numbers a template draws as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Aggregate, QuerySet
from django.db.models.functions import TruncHour
from django.utils import timezone

HOURS = 24
BAR, GAP, HEIGHT = 8, 2, 40


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One hour."""

    x: int
    y: float
    height: float
    title: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    title: str
    total: str
    bars: Sequence[Bar]
    width: int = HOURS * (BAR + GAP)
    height: int = HEIGHT
    bar: int = BAR


def by_hour(title: str, rows: QuerySet[Any], column: str, value: Aggregate, *, money: bool = False) -> Chart:
    """What `value` comes to in each of the last hours, by the time in `column`."""
    first = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    grouped = (
        rows.filter(**{f"{column}__gte": first})
        .annotate(hour=TruncHour(column))
        .order_by()
        .values("hour")
        .annotate(value=value)
    )
    found = {row["hour"]: float(row["value"] or 0) for row in grouped}
    hours = [first + timedelta(hours=number) for number in range(HOURS)]
    return draw(title, [(hour, found.get(hour, 0.0)) for hour in hours], money=money)


def draw(title: str, values: Sequence[tuple[datetime, float]], *, money: bool) -> Chart:
    most = max((value for _, value in values), default=0.0) or 1.0
    form = "${:,.2f}" if money else "{:,.0f}"
    bars = [
        Bar(
            x=number * (BAR + GAP),
            y=round(HEIGHT - HEIGHT * value / most, 1),
            height=round(HEIGHT * value / most, 1),
            title=f"{hour:%H}:00 {form.format(value)}",
        )
        for number, (hour, value) in enumerate(values)
    ]
    return Chart(title=title, total=form.format(sum(value for _, value in values)), bars=bars)
