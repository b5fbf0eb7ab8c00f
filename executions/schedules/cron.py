"""Cron expressions in a time zone: when they are due, over every change of the clocks.

As Debian's cron does it: a job at a fixed time that a change skips runs right after it, one that a change repeats
runs once; jobs with `*` in minute or hour follow real time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from django.conf import settings
from django.core.exceptions import ValidationError

from accounts.time_zones import validate_time_zone
from executions.errors import BadCron

EXAMPLE = "Give five fields, minute hour day month weekday, such as `0 9 * * mon-fri` for weekdays at 9."
FIELDS = 5
MAX_CHARACTERS = 100
MINUTE = timedelta(minutes=1)
MAX_DAYS = 30 * 366  # 29 February on a Monday comes once in 28 years
SAMPLE = 70  # more than an hour's worth of the densest expression


@dataclass(frozen=True, kw_only=True)
class Cron:
    """A valid expression; moments go in and come out in UTC."""

    expression: str
    timezone: str
    zone: ZoneInfo = field(repr=False, compare=False)

    def next_after(self, moment: datetime) -> datetime:
        """Return the first due time after that moment."""
        for day in self._days(moment, step=1):
            dues = dues_on(self, day)
            if later := dues[bisect_right(dues, moment) :]:
                return later[0]
        raise never(self.expression)

    def last_until(self, moment: datetime) -> datetime:
        """Return the last due time up to and including that moment."""
        for day in self._days(moment, step=-1):
            dues = dues_on(self, day)
            if earlier := dues[: bisect_right(dues, moment)]:
                return earlier[-1]
        raise never(self.expression)

    def _days(self, moment: datetime, *, step: int) -> Iterator[date]:
        """Yield the local days with due times, starting one before (or after) the moment."""
        first = moment.astimezone(self.zone).date() - timedelta(days=step)
        days = (first + timedelta(days=step * number) for number in range(MAX_DAYS))
        return (day for day in days if day.month in self.parsed.months and self.parsed.match_day(day))

    @cached_property
    def follows_real_time(self) -> bool:
        minute, hour = self.expression.split()[:2]
        return minute.startswith("*") or hour.startswith("*")

    @cached_property
    def parsed(self) -> CronSim:
        return CronSim(self.expression, datetime.now(UTC))

    @property
    def words(self) -> str:
        """For people: `At 09:00 on Monday through Friday (Europe/Paris)`."""
        return f"{self.parsed.explain()} ({self.timezone})"


def parse_cron(text: str, timezone: str) -> Cron:
    """Read what a person gave; raises BadCron with what is wrong and how it is done right."""
    cron = read_cron(text, timezone)
    dues = list(islice(CronSim(cron.expression, datetime.now(UTC)), SAMPLE))
    if not dues:
        raise never(cron.expression)
    check_gap(cron.expression, dues)
    return cron


def read_cron(text: str, timezone: str) -> Cron:
    """Read what was found good once; raises BadCron should it be so no longer."""
    try:
        validate_time_zone(timezone)
    except ValidationError as error:
        raise BadCron(error.messages[0], field="timezone") from None
    expression = " ".join(text.split())
    if len(expression) > MAX_CHARACTERS or len(expression.split()) != FIELDS:
        raise BadCron(f"{text[:MAX_CHARACTERS]!r} has not five fields. {EXAMPLE}")
    try:
        CronSim(expression, datetime.now(UTC))
    except (CronSimError, ValueError) as error:
        raise BadCron(f"{expression!r} is no cron expression: {error}. {EXAMPLE}") from None
    return Cron(expression=expression, timezone=timezone, zone=ZoneInfo(timezone))


@lru_cache(maxsize=128)
def dues_on(cron: Cron, day: date) -> tuple[datetime, ...]:
    """Return the due times of one local day in order; a day may have 23 or 25 hours."""
    parsed = cron.parsed
    if not cron.follows_real_time:
        times = (time(hour, minute) for hour in parsed.hours for minute in parsed.minutes)
        return tuple(sorted({real(datetime.combine(day, at, cron.zone)) for at in times}))
    return tuple(
        at
        for at, local in minutes_of(day, cron.zone)
        if local.minute in parsed.minutes and local.hour in parsed.hours
    )


def minutes_of(day: date, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    """Yield every minute of a local day, in UTC and in local time."""
    at = datetime.combine(day, time(), zone).astimezone(UTC)
    while (local := at.astimezone(zone)).date() <= day:
        if local.date() == day:
            yield at, local
        at += MINUTE


def real(local: datetime) -> datetime:
    """Return the moment of a local time: the first of two; in a gap, the moment right after it."""
    while (at := local.astimezone(UTC)).astimezone(local.tzinfo).replace(fold=0) != local:
        local += MINUTE
    return at


def check_gap(expression: str, dues: list[datetime]) -> None:
    least = timedelta(seconds=settings.COPILOT_MIN_SCHEDULE_SECONDS)
    if any(later - earlier < least for earlier, later in pairwise(dues)):
        raise BadCron(
            f"{expression!r} is due more often than every {least.total_seconds():g} seconds, the shortest interval "
            f"allowed here. `*/15 * * * *` is every quarter of an hour."
        )


def never(expression: str) -> BadCron:
    return BadCron(f"{expression!r} is never due. Check that the day exists in that month. {EXAMPLE}")
