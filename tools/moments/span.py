"""A range of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, tzinfo


@dataclass(frozen=True, kw_only=True)
class Span:
    """From `start` up to, but not with, `end`. Without both it is "latest": the newest, whenever that was.

    Both are instants in UTC: Python compares two times of one zone by what the clock shows, and in the hour that
    comes twice that is wrong. `zone` is for showing them.
    """

    start: datetime | None = None
    end: datetime | None = None
    zone: tzinfo = UTC

    @property
    def is_latest(self) -> bool:
        return self.start is None and self.end is None

    def contains(self, moment: datetime) -> bool:
        exact = moment.astimezone(UTC)
        return (self.start is None or self.start <= exact) and (self.end is None or exact < self.end)

    def as_filter(self, field: str) -> dict[str, datetime]:
        """Keyword arguments for a queryset's `filter`."""
        bounds = {f"{field}__gte": self.start, f"{field}__lt": self.end}
        return {lookup: moment for lookup, moment in bounds.items() if moment is not None}

    def __str__(self) -> str:
        """For messages: the day, the days, or the times from and to."""
        if self.start is None or self.end is None:
            return "latest"
        first, end = self.start.astimezone(self.zone), self.end.astimezone(self.zone)
        last = (self.end - datetime.resolution).astimezone(self.zone)
        if not first.time() == end.time() == time.min:
            return f"{first:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}"
        if first.date() == last.date():
            return f"{first:%Y-%m-%d}"
        return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


LATEST = Span()
