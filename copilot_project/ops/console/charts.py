"""The charts of the last day, one bar per hour, as numbers that a template draws as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Aggregate, QuerySet
from django.db.models.functions import TruncHour
from django.utils import timezone

from copilot_project.ops.console import formatting

HOURS = 24
BAR, GAP, HEIGHT = 8, 2, 48


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
    most: str  # the largest value of an hour: the top of the scale
    numbers: str  # the values as text, for screen readers
    bars: Sequence[Bar]
    hours: Sequence[str]  # the labels below
    width: int = HOURS * (BAR + GAP)
    height: int = HEIGHT
    bar: int = BAR


def by_hour(title: str, rows: QuerySet[Any], column: str, value: Aggregate, *, money: bool = False) -> Chart:
    """Chart `value` for each of the last hours, by the time in `column`."""
    grouped = (
        rows.filter(**{f"{column}__gte": last_hours()[0]})
        .annotate(hour=TruncHour(column))
        .order_by()
        .values("hour")
        .annotate(value=value)
    )
    found = {row["hour"]: float(row["value"] or 0) for row in grouped}
    return draw(title, [(hour, found.get(hour, 0.0)) for hour in last_hours()], money=money)


def of_counts(title: str, counts: Mapping[datetime, float] | None) -> Chart:
    """Chart counts by hour; None means that they are unknown."""
    if counts is None:
        return replace(of_counts(title, {}), total="?", most="?", numbers="unknown")
    found: dict[datetime, float] = {}
    for at, number in counts.items():
        hour = at.replace(minute=0, second=0, microsecond=0)
        found[hour] = found.get(hour, 0.0) + number
    return draw(title, [(hour, found.get(hour, 0.0)) for hour in last_hours()], money=False)


def last_hours() -> list[datetime]:
    """Return the starts of the last hours, the current one last."""
    present = timezone.now().replace(minute=0, second=0, microsecond=0)
    return [present - timedelta(hours=number) for number in reversed(range(HOURS))]


def draw(title: str, values: Sequence[tuple[datetime, float]], *, money: bool) -> Chart:
    most = max((value for _, value in values), default=0.0)
    show = formatting.money if money else "{:,.0f}".format
    bars = [
        Bar(
            x=number * (BAR + GAP),
            y=round(HEIGHT - HEIGHT * value / (most or 1.0), 1),
            height=round(HEIGHT * value / (most or 1.0), 1),
            title=f"{hour:%H}:00 {show(value)}",
        )
        for number, (hour, value) in enumerate(values)
    ]
    return Chart(
        title=title,
        total=show(sum(value for _, value in values)),
        most=show(most),
        numbers=in_words([(f"{hour:%H}:00", show(value)) for hour, value in values if value]),
        bars=bars,
        hours=[f"{values[index][0]:%H}:00" for index in (0, HOURS // 3, 2 * HOURS // 3, HOURS - 1)],
    )


def in_words(values: Sequence[tuple[str, str]]) -> str:
    """Describe the hours with a value."""
    return ", ".join(f"{hour} {value}" for hour, value in values) or "nothing in the last day"
