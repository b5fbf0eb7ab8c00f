"""Patterns of single time expressions, each with what it means."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from re import Match

from tools.time_ranges.calendar import DAY, Calendar, months_after
from tools.time_ranges.time_range import LATEST, TimeRange

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
PARTS_OF_DAY = {
    "morning": (time(0), time(12)),
    "afternoon": (time(12), time(18)),
    "evening": (time(18), None),
}
LONGEST_LEAP_GAP_YEARS = 8

NUMBER = rf"(?P<number>\d{{1,5}}|an?|{'|'.join(NUMBERS)})"
UNIT = r"(?P<unit>minute|hour|day|week|month|year)s?"
PAST = r"(?:last|past|previous)"
WEEKDAY = r"(?P<weekday>(?:mon|tues?|wed(?:nes)?|thu(?:r|rs)?|fri|sat(?:ur)?|sun)(?:day)?)"
MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
YEAR = r"(?P<year>\d{4})"
DAY_OF_MONTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
ISO_MOMENT = r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)? ?(?:z|[+-]\d\d:?\d\d)?"
LATEST_WORDS = r"(?:latest|newest|last|most recent)(?: (?:one|run|output|execution|result))?"


def past(found: Match[str], calendar: Calendar) -> TimeRange:
    """Count minutes and hours back from now; days and more are whole days up to the end of today."""
    said, count, unit = found.groupdict().get("number"), number_of(found), found["unit"]
    match unit:
        case "minute" | "hour":
            return calendar.past(timedelta(**{f"{unit}s": count}))
        case "day" if said is None:
            return calendar.past(timedelta(hours=24))
        case "day":
            return calendar.since(calendar.days_back(count))
        case "week":
            return calendar.since(calendar.days_back(7 * count))
        case "month" if count == 1:
            return calendar.since(calendar.days_back(30))
        case "month":
            return calendar.since(months_after(calendar.today, -count))
        case "year" if said is None:
            return calendar.year(calendar.today.year - 1)
    return calendar.since(months_after(calendar.today, -12 * count))


def ago(found: Match[str], calendar: Calendar) -> TimeRange:
    """Return the whole day, week, month or year that long ago; for minutes and hours, an hour either side."""
    count, unit = number_of(found), found["unit"]
    match unit:
        case "minute" | "hour":
            return calendar.around(calendar.back(timedelta(**{f"{unit}s": count})))
        case "day":
            return calendar.day(calendar.days_back(count))
        case "week":
            return calendar.week(calendar.days_back(7 * count))
        case "month":
            back = months_after(calendar.today, -count)
            return calendar.month(back.year, back.month)
    return calendar.year(calendar.today.year - count)


def current(found: Match[str], calendar: Calendar) -> TimeRange:
    today = calendar.today
    match found["unit"]:
        case "week":
            return calendar.week(today)
        case "month":
            return calendar.month(today.year, today.month)
    return calendar.year(today.year)


def weekday(found: Match[str], calendar: Calendar) -> TimeRange:
    """Return the newest such weekday, which may be today unless "last" was said."""
    back = (calendar.today.weekday() - WEEKDAYS.index(found["weekday"][:3])) % 7
    return calendar.day(calendar.days_back(7 if back == 0 and found["past"] else back))


def part_of_day(found: Match[str], calendar: Calendar) -> TimeRange:
    day = calendar.days_back(1 if found["which"] == "yesterday" else 0)
    first, end = PARTS_OF_DAY[found["part"]]
    until = calendar.at(day, end) if end else calendar.at(day + DAY, time.min)
    return calendar.span(calendar.at(day, first), until)


def named_month(found: Match[str], calendar: Calendar) -> TimeRange:
    """Return the month or day; without a year, the newest one that has begun."""
    month, today = month_of(found), calendar.today
    year = today.year if month <= today.month else today.year - 1
    return calendar.month(int(found["year"] or year), month)


def named_day(found: Match[str], calendar: Calendar) -> TimeRange:
    """Return the month or day; without a year, the newest one that has begun."""
    month, day, today = month_of(found), int(found["day"]), calendar.today
    if found["year"]:
        return calendar.day(date(int(found["year"]), month, day))
    date(2000, month, day)  # a leap year: what it does not have, no year has
    for year in range(today.year, today.year - LONGEST_LEAP_GAP_YEARS - 1, -1):
        if day <= monthrange(year, month)[1] and date(year, month, day) <= today:
            return calendar.day(date(year, month, day))
    raise ValueError("no such day for years")


def exact_moment(found: Match[str], calendar: Calendar) -> TimeRange:
    moment = datetime.fromisoformat(found[0].replace(" ", "T", 1).replace(" ", "").upper())
    return calendar.around(moment if moment.tzinfo else moment.replace(tzinfo=calendar.zone))


def number_of(found: Match[str]) -> int:
    """Return the number; one if none was said."""
    words = found.groupdict().get("number") or "one"
    if words in ("a", "an"):
        return 1
    return int(words) if words.isdigit() else NUMBERS.index(words) + 1


def month_of(found: Match[str]) -> int:
    return MONTHS.index(found["month"][:3]) + 1


Meaning = Callable[[Match[str], Calendar], TimeRange]
PATTERNS: list[tuple[str, Meaning]] = [
    (LATEST_WORDS, lambda found, calendar: LATEST),
    (r"today", lambda found, calendar: calendar.day(calendar.today)),
    (r"yesterday", lambda found, calendar: calendar.day(calendar.days_back(1))),
    (r"day before yesterday", lambda found, calendar: calendar.day(calendar.days_back(2))),
    (rf"(?P<which>this|yesterday) (?P<part>{'|'.join(PARTS_OF_DAY)})", part_of_day),
    (rf"(?:{PAST} )?{NUMBER} {UNIT}", past),
    (rf"{PAST} {UNIT}", past),
    (rf"{NUMBER} {UNIT} (?:ago|back)", ago),
    (r"this (?P<unit>week|month|year)", current),
    (rf"(?:(?P<past>{PAST}) |this )?{WEEKDAY}", weekday),
    (r"\d{4}-\d\d-\d\d", lambda found, calendar: calendar.day(date.fromisoformat(found[0]))),
    (
        rf"{YEAR}-(?P<month>\d\d)",
        lambda found, calendar: calendar.month(int(found["year"]), int(found["month"])),
    ),
    (YEAR, lambda found, calendar: calendar.year(int(found["year"]))),
    (rf"(?:{PAST} )?{MONTH}(?:,? {YEAR})?", named_month),
    (rf"{MONTH} {DAY_OF_MONTH}(?:,? {YEAR})?", named_day),
    (rf"{DAY_OF_MONTH}(?: of)? {MONTH}(?:,? {YEAR})?", named_day),
    (ISO_MOMENT, exact_moment),
]
FORMS = [(re.compile(pattern), meaning) for pattern, meaning in PATTERNS]


def read_form(plain: str, calendar: Calendar) -> TimeRange | None:
    """Return what the words mean, or None; raises ValueError or OverflowError for impossible dates."""
    for pattern, meaning in FORMS:
        if found := pattern.fullmatch(plain):
            return meaning(found, calendar)
    return None
