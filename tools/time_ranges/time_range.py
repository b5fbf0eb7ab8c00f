"""A range of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, tzinfo


@dataclass(frozen=True, kw_only=True)
class TimeRange:
    """The time from `start` up to but excluding `end`. Without both it means "latest": the newest of all times.

    Both are in UTC, because Python compares two times of one zone by wall clock, which is wrong in the repeated hour
    when daylight saving time ends. `zone` is for display.
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
        """Return the day, the days, or the times from and to, for messages."""
        if self.start is None or self.end is None:
            return "latest"
        first, end = self.start.astimezone(self.zone), self.end.astimezone(self.zone)
        last = (self.end - datetime.resolution).astimezone(self.zone)
        if not first.time() == end.time() == time.min:
            return f"{first:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}"
        if first.date() == last.date():
            return f"{first:%Y-%m-%d}"
        return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


LATEST = TimeRange()
