"""Parse a time expression: single expressions, and ranges made of two of them."""

from __future__ import annotations

import re
from datetime import datetime, time, tzinfo
from re import Match

from tools.errors import ModelRetry
from tools.time_ranges.calendar import DAY, Calendar
from tools.time_ranges.patterns import read_form
from tools.time_ranges.time_range import TimeRange

MAX_CHARACTERS = 100
SHORT_UNITS = {
    "m": "minutes",
    "min": "minutes",
    "mins": "minutes",
    "h": "hours",
    "hr": "hours",
    "hrs": "hours",
}
SHORT_UNITS |= {"d": "days", "w": "weeks"}

SHORT = re.compile(rf"\b(\d+) ?({'|'.join(SHORT_UNITS)})\b")
SMALL_WORDS = re.compile(r"^(?:on|in|during|of|for|from|at) (?!.* (?:to|until|till) )|\bthe ")
SINCE = re.compile(r"since (?P<words>.+)")
BETWEEN = re.compile(r"between (?P<first>.+?) and (?P<last>.+)")
FROM_TO = re.compile(r"(?:from )?(?P<first>.+?) (?:to|until|till|-|\u2013) (?P<last>.+)")
AT = re.compile(r"(?P<words>.+?),?(?: at)? (?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?: ?(?P<half>am|pm))?")

WORKS = (
    "latest; today; yesterday; last week or last 7 days; last month or last 30 days; this week; this month; "
    "past 24 hours; last 3 hours; 3 days ago; monday; since monday; march; march 2026; 2026-03-05; "
    "2026-03-05T14:30 (an hour either side); yesterday at 14:30; between 2026-03-01 and yesterday"
)


class UnknownTimeRange(ModelRetry):
    """The expression is not a time."""

    code = "unknown_time"

    def __init__(self, words: str) -> None:
        super().__init__(
            f"{words[:MAX_CHARACTERS]!r} is not a known time.", next_step=f"Use one of: {WORKS}."
        )


def read_span(words: str, *, zone: tzinfo, now: datetime) -> TimeRange:
    """Return what the words mean in `zone` at the moment `now`; raises UnknownTimeRange.

    Empty words are unknown too: a default is the caller's business.
    """
    plain = normal(words[: 10 * MAX_CHARACTERS])
    try:
        span = _read(plain, Calendar(zone=zone, now=now)) if len(plain) <= MAX_CHARACTERS else None
    except (ValueError, OverflowError):  # a 31st of February, a day after the last one there is
        span = None
    if span is None:
        raise UnknownTimeRange(words)
    return span


def normal(words: str) -> str:
    """Return the words in lower case with single spaces, without articles, prepositions and punctuation."""
    plain = words.lower().replace("_", " ").replace("\u2019", "'").replace("last-", "last ")
    plain = " ".join(plain.split()).strip(" .,!?\"'").removesuffix("'s")
    plain = SHORT.sub(lambda found: f"{found[1]} {SHORT_UNITS[found[2]]}", plain)
    return SMALL_WORDS.sub("", plain)


def _read(plain: str, calendar: Calendar) -> TimeRange | None:
    if (span := read_form(plain, calendar)) is not None:
        return span
    for pattern, meaning in ((SINCE, _since), (BETWEEN, _between), (FROM_TO, _between), (AT, _at)):
        if found := pattern.fullmatch(plain):
            return meaning(found, calendar)
    return None


def _since(found: Match[str], calendar: Calendar) -> TimeRange | None:
    """Return the range from the start of that time to the end of today."""
    start, _ = _bounds(found["words"], calendar)
    end = calendar.at(calendar.today + DAY, time.min)
    return calendar.span(start, end) if start is not None and start < end else None


def _between(found: Match[str], calendar: Calendar) -> TimeRange | None:
    """Return the range from the start of the first to the end of the last; None in the wrong order."""
    start, _ = _bounds(found["first"], calendar)
    _, end = _bounds(found["last"], calendar)
    return calendar.span(start, end) if start is not None and end is not None and start < end else None


def _at(found: Match[str], calendar: Calendar) -> TimeRange | None:
    """Return an hour either side of times such as `yesterday at 14:30` or `monday 9am`."""
    start, end = _bounds(found["words"], calendar)
    hour, half = int(found["hour"]), found["half"]
    if start is None or not (half or found["minute"]) or (half and not 1 <= hour <= 12):
        return None
    day = start.astimezone(calendar.zone).date()
    if (start, end) != (calendar.day(day).start, calendar.day(day).end):
        return None  # a clock time needs a single day
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return calendar.around(calendar.at(day, time(hour, int(found["minute"] or 0))))


def _bounds(words: str, calendar: Calendar) -> tuple[datetime | None, datetime | None]:
    """Return the start and end of a time expression; "latest" has neither."""
    span = _read(normal(words), calendar)
    return (span.start, span.end) if span is not None else (None, None)
