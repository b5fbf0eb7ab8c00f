"""From the words of a person or a model to a range: forms by themselves, and ranges made of two of them."""

from __future__ import annotations

import re
from datetime import datetime, time, tzinfo
from re import Match

from tools.moments.calendar import DAY, Calendar
from tools.moments.errors import UnknownMoment
from tools.moments.forms import read_form
from tools.moments.span import Span

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


def read_span(words: str, *, zone: tzinfo, now: datetime) -> Span:
    """What the words mean to a person in `zone` at the moment `now`; raises UnknownMoment for all others.

    Empty words are unknown too: a caller with a default says so itself.
    """
    plain = normal(words[: 10 * MAX_CHARACTERS])
    try:
        span = _read(plain, Calendar(zone=zone, now=now)) if len(plain) <= MAX_CHARACTERS else None
    except (ValueError, OverflowError):  # a 31st of February, a day after the last one there is
        span = None
    if span is None:
        raise UnknownMoment(words)
    return span


def normal(words: str) -> str:
    """Lower case and single spaces, without the small words and signs around the time."""
    plain = words.lower().replace("_", " ").replace("\u2019", "'").replace("last-", "last ")
    plain = " ".join(plain.split()).strip(" .,!?\"'").removesuffix("'s")
    plain = SHORT.sub(lambda found: f"{found[1]} {SHORT_UNITS[found[2]]}", plain)
    return SMALL_WORDS.sub("", plain)


def _read(plain: str, calendar: Calendar) -> Span | None:
    if (span := read_form(plain, calendar)) is not None:
        return span
    for pattern, meaning in ((SINCE, _since), (BETWEEN, _between), (FROM_TO, _between), (AT, _at)):
        if found := pattern.fullmatch(plain):
            return meaning(found, calendar)
    return None


def _since(found: Match[str], calendar: Calendar) -> Span | None:
    """From the start of that time up to the end of today."""
    start, _ = _bounds(found["words"], calendar)
    end = calendar.at(calendar.today + DAY, time.min)
    return calendar.span(start, end) if start is not None and start < end else None


def _between(found: Match[str], calendar: Calendar) -> Span | None:
    """From the start of the one to the end of the other; the wrong way round is no range."""
    start, _ = _bounds(found["first"], calendar)
    _, end = _bounds(found["last"], calendar)
    return calendar.span(start, end) if start is not None and end is not None and start < end else None


def _at(found: Match[str], calendar: Calendar) -> Span | None:
    """`yesterday at 14:30`, `monday 9am`: an hour either side."""
    start, end = _bounds(found["words"], calendar)
    hour, half = int(found["hour"]), found["half"]
    if start is None or not (half or found["minute"]) or (half and not 1 <= hour <= 12):
        return None
    day = start.astimezone(calendar.zone).date()
    if (start, end) != (calendar.day(day).start, calendar.day(day).end):
        return None  # a clock time of a week or a month names nothing
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return calendar.around(calendar.at(day, time(hour, int(found["minute"] or 0))))


def _bounds(words: str, calendar: Calendar) -> tuple[datetime | None, datetime | None]:
    """Start and end of a time inside other words; "latest" has neither."""
    span = _read(normal(words), calendar)
    return (span.start, span.end) if span is not None else (None, None)
