"""Small charts of the last day, one bar an hour, as numbers a template draws as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Aggregate, QuerySet
from django.db.models.functions import TruncHour
from django.utils import timezone

from copilot_project.console import words

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
    most: str  # in one hour: the top of the scale
    numbers: str  # the same for those who do not see it
    bars: Sequence[Bar]
    hours: Sequence[str]  # under it
    width: int = HOURS * (BAR + GAP)
    height: int = HEIGHT
    bar: int = BAR


def by_hour(title: str, rows: QuerySet[Any], column: str, value: Aggregate, *, money: bool = False) -> Chart:
    """What `value` comes to in each of the last hours, by the time in `column`."""
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
    """What was counted at each moment, added up by hour; None when nobody knows."""
    if counts is None:
        return replace(of_counts(title, {}), total="?", most="?", numbers="not known now")
    found: dict[datetime, float] = {}
    for at, number in counts.items():
        hour = at.replace(minute=0, second=0, microsecond=0)
        found[hour] = found.get(hour, 0.0) + number
    return draw(title, [(hour, found.get(hour, 0.0)) for hour in last_hours()], money=False)


def last_hours() -> list[datetime]:
    """The beginnings of the last hours, the present one last."""
    present = timezone.now().replace(minute=0, second=0, microsecond=0)
    return [present - timedelta(hours=number) for number in reversed(range(HOURS))]


def draw(title: str, values: Sequence[tuple[datetime, float]], *, money: bool) -> Chart:
    most = max((value for _, value in values), default=0.0)
    said = words.money if money else "{:,.0f}".format
    bars = [
        Bar(
            x=number * (BAR + GAP),
            y=round(HEIGHT - HEIGHT * value / (most or 1.0), 1),
            height=round(HEIGHT * value / (most or 1.0), 1),
            title=f"{hour:%H}:00 {said(value)}",
        )
        for number, (hour, value) in enumerate(values)
    ]
    return Chart(
        title=title,
        total=said(sum(value for _, value in values)),
        most=said(most),
        numbers=in_words([(f"{hour:%H}:00", said(value)) for hour, value in values if value]),
        bars=bars,
        hours=[f"{values[place][0]:%H}:00" for place in (0, HOURS // 3, 2 * HOURS // 3, HOURS - 1)],
    )


def in_words(values: Sequence[tuple[str, str]]) -> str:
    """The hours that have something."""
    return ", ".join(f"{hour} {value}" for hour, value in values) or "nothing in the last day"
