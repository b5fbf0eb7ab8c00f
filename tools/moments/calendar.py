"""The days, weeks, months and years of one time zone, as ranges."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from tools.moments.span import Span

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """Time as it is told in `zone` at the moment `now`. A day is a day there, of 23, 24 or 25 hours."""

    zone: tzinfo
    now: datetime

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def days_back(self, count: int) -> date:
        return self.today - count * DAY

    def at(self, day: date, clock: time) -> datetime:
        """The moment at which the clock of that day shows this; the first one where it does so twice."""
        return datetime.combine(day, clock, tzinfo=self.zone).astimezone(UTC)

    def span(self, start: datetime, end: datetime) -> Span:
        return Span(start=start, end=end, zone=self.zone)

    def days(self, first: date, end: date) -> Span:
        """All days from `first` up to, but not with, `end`."""
        return self.span(self.at(first, time.min), self.at(end, time.min))

    def day(self, day: date) -> Span:
        return self.days(day, day + DAY)

    def since(self, first: date) -> Span:
        """From that day up to the end of today."""
        return self.days(first, self.today + DAY)

    def week(self, day: date) -> Span:
        """The week, from Monday on, in which that day lies."""
        monday = day - day.weekday() * DAY
        return self.days(monday, monday + 7 * DAY)

    def month(self, year: int, month: int) -> Span:
        first = date(year, month, 1)
        return self.days(first, months_after(first, 1))

    def year(self, year: int) -> Span:
        return self.days(date(year, 1, 1), date(year + 1, 1, 1))

    def around(self, moment: datetime) -> Span:
        """An hour either side."""
        exact = moment.astimezone(UTC)
        return self.span(exact - HOUR, exact + HOUR)

    def past(self, length: timedelta) -> Span:
        """The time of that length up to now, and with it."""
        return self.span(self.back(length), self.back(-datetime.resolution))

    def back(self, length: timedelta) -> datetime:
        """So long before now, by a clock that is never put forward or back."""
        return self.now.astimezone(UTC) - length


def months_after(day: date, count: int) -> date:
    """The same day so many months later (or earlier); the last of the month where it has no such day."""
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    if year < 1:
        raise OverflowError("before the first year")
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
