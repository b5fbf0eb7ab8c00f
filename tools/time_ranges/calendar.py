"""The days, weeks, months and years of one time zone, as ranges."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from tools.time_ranges.time_range import TimeRange

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """The calendar of `zone` at the moment `now`; a day has 23, 24 or 25 hours there."""

    zone: tzinfo
    now: datetime

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def days_back(self, count: int) -> date:
        return self.today - count * DAY

    def at(self, day: date, clock: time) -> datetime:
        """Return the moment of that wall clock time; the first one if it occurs twice."""
        return datetime.combine(day, clock, tzinfo=self.zone).astimezone(UTC)

    def span(self, start: datetime, end: datetime) -> TimeRange:
        return TimeRange(start=start, end=end, zone=self.zone)

    def days(self, first: date, end: date) -> TimeRange:
        """Return all days from `first` up to but excluding `end`."""
        return self.span(self.at(first, time.min), self.at(end, time.min))

    def day(self, day: date) -> TimeRange:
        return self.days(day, day + DAY)

    def since(self, first: date) -> TimeRange:
        """Return the range from that day to the end of today."""
        return self.days(first, self.today + DAY)

    def week(self, day: date) -> TimeRange:
        """Return the week of that day, starting on Monday."""
        monday = day - day.weekday() * DAY
        return self.days(monday, monday + 7 * DAY)

    def month(self, year: int, month: int) -> TimeRange:
        first = date(year, month, 1)
        return self.days(first, months_after(first, 1))

    def year(self, year: int) -> TimeRange:
        return self.days(date(year, 1, 1), date(year + 1, 1, 1))

    def around(self, moment: datetime) -> TimeRange:
        """Return an hour either side of the moment."""
        exact = moment.astimezone(UTC)
        return self.span(exact - HOUR, exact + HOUR)

    def past(self, length: timedelta) -> TimeRange:
        """Return the range of that length up to and including now."""
        return self.span(self.back(length), self.back(-datetime.resolution))

    def back(self, length: timedelta) -> datetime:
        """Return the moment that long before now, ignoring changes of daylight saving time."""
        return self.now.astimezone(UTC) - length


def months_after(day: date, count: int) -> date:
    """Return the same day that many months later, or the last of the month if it has no such day."""
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    if year < 1:
        raise OverflowError("before the first year")
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
