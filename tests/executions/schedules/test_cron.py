"""When a cron expression is due: against Celery's own reading of it, minute by minute, over changes of the clocks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery.schedules import crontab
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from executions.errors import BadCron
from executions.schedules.actions import tick_fields
from executions.schedules.cron import Cron, parse_cron
from tests.executions.schedules.conftest import utc
from tests.tiers import examples

MINUTE = timedelta(minutes=1)
HOURS = 40  # a change and a day after it
LOOKS = 20


# --- an oracle that shares no code with the product ----------------------------------------------


class Reading:
    """An expression as Celery's parser reads it, with the rule for days that cron has."""

    def __init__(self, expression: str) -> None:
        minute, hour, day, month, weekday = expression.split()
        self.parsed: Any = crontab(
            minute=minute, hour=hour, day_of_month=day, month_of_year=month, day_of_week=weekday
        )
        self.both = day.startswith("*") or weekday.startswith("*")
        self.follows_real_time = minute.startswith("*") or hour.startswith("*")

    def fits(self, local: datetime) -> bool:
        parsed = self.parsed
        if local.minute not in parsed.minute or local.hour not in parsed.hour:
            return False
        in_month = local.day in parsed.day_of_month
        in_week = local.isoweekday() % 7 in parsed.day_of_week
        days = (in_month and in_week) if self.both else (in_month or in_week)
        return days and local.month in parsed.month_of_year


def expected(expression: str, zone: ZoneInfo, start: datetime, end: datetime) -> list[datetime]:
    """Every due time between, by looking at each minute there is."""
    reading = Reading(expression)
    if reading.follows_real_time:
        return [at for at in minutes(start, end) if reading.fits(at.astimezone(zone))]
    wall = minutes(start - timedelta(days=1), end + timedelta(days=1))
    found = {real(local.replace(tzinfo=zone)) for local in wall if reading.fits(local)}
    return sorted(at for at in found if start < at <= end)


def minutes(start: datetime, end: datetime) -> Iterator[datetime]:
    at = start.replace(second=0, microsecond=0)
    while at <= end:
        if at > start:
            yield at
        at += MINUTE


def real(local: datetime) -> datetime:
    """The moment of a time on the wall: the first of two, the first after a gap."""
    while local.astimezone(UTC).astimezone(local.tzinfo).replace(fold=0) != local:
        local += MINUTE
    return local.astimezone(UTC)


# --- expressions ----------------------------------------------------------------------------------


def field(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    span = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    some = st.lists(number, min_size=1, max_size=3).map(lambda values: ",".join(map(str, values)))
    step = st.integers(2, 20).map(lambda every: f"*/{every}")
    return st.one_of(st.just("*"), some, span, step)


EXPRESSIONS = st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6)).map(" ".join)
CHANGES = [
    ("Europe/Berlin", "2026-03-29T00:30"),
    ("Europe/Berlin", "2026-10-25T00:30"),
    ("America/New_York", "2026-03-08T06:00"),
    ("America/New_York", "2026-11-01T05:00"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),  # half an hour
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("Africa/Cairo", "2026-04-23T22:00"),  # at midnight
    ("America/Santiago", "2026-09-06T04:00"),
    ("UTC", "2026-03-29T00:30"),
]


@settings(max_examples=examples(60), deadline=None)
@given(expression=EXPRESSIONS, change=st.sampled_from(CHANGES), shift=st.integers(-12 * 60, 6 * 60))
@example(expression="30 2 * * *", change=CHANGES[0], shift=0)
@example(expression="30 2 * * *", change=CHANGES[1], shift=0)
@example(expression="30 2 * * *", change=CHANGES[1], shift=45)
@example(expression="*/20 2 * * *", change=CHANGES[1], shift=0)
@example(expression="15 2 * * *", change=CHANGES[4], shift=0)
@example(expression="0 0 13 * 5", change=CHANGES[0], shift=0)
def test_it_is_due_exactly_when_every_minute_looked_at_says_so(
    expression: str, change: tuple[str, str], shift: int
) -> None:
    name, moment = change
    zone = ZoneInfo(name)
    start = utc(moment) + timedelta(minutes=shift, seconds=shift % 60)
    end = start + timedelta(hours=HOURS)
    cron = Cron(expression=expression, timezone=name, zone=zone)
    wanted = expected(expression, zone, start, end)
    assert list(dues(cron, start, end)) == wanted
    looked_at = wanted[:: len(wanted) // LOOKS + 1]
    for later in looked_at:
        earlier = cron.last_until(later - timedelta(seconds=1))
        assert earlier <= start or earlier == wanted[wanted.index(later) - 1]
        assert cron.last_until(later) == later


def dues(cron: Cron, start: datetime, end: datetime) -> Iterator[datetime]:
    at = start
    while True:
        try:
            at = cron.next_after(at)
        except BadCron:
            return  # a day no month has
        if at > end:
            return
        yield at


@settings(max_examples=examples(40), deadline=None)
@given(expression=EXPRESSIONS, days=st.integers(0, 365))
def test_beat_ticks_whenever_it_is_due(expression: str, days: int) -> None:
    """Beat's row may tick more often than the schedule is due, never less."""
    cron = Cron(expression=expression, timezone="UTC", zone=ZoneInfo("UTC"))
    ticks: Any = crontab(**tick_fields(cron))
    start = utc("2026-01-01T00:00") + timedelta(days=days)
    for due in dues(cron, start, start + timedelta(hours=HOURS)):
        assert due.minute in ticks.minute and due.hour in ticks.hour
        assert due.day in ticks.day_of_month and due.month in ticks.month_of_year
        assert due.isoweekday() % 7 in ticks.day_of_week


# --- by hand ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "after", "due"),
    [
        ("30 2 * * *", "2026-03-28T12:00", "2026-03-29T01:00"),  # skipped by the change: right after it
        ("30 2 * * *", "2026-10-24T12:00", "2026-10-25T00:30"),  # twice on the wall: the first
        ("30 2 * * *", "2026-10-25T00:30", "2026-10-26T01:30"),  # and once
        ("30 2 * * *", "2026-10-25T01:15", "2026-10-26T01:30"),  # asked inside the repeated hour
        ("0 9 * * *", "2026-03-28T12:00", "2026-03-29T07:00"),  # nine stays nine
        ("0 9 * * *", "2026-10-24T12:00", "2026-10-25T08:00"),
        ("0 * * * *", "2026-10-25T00:00", "2026-10-25T01:00"),  # every hour is every hour
        ("0 9 29 feb *", "2026-01-01T00:00", "2028-02-29T08:00"),
        ("0 9 * * MON-fri", "2026-03-27T12:00", "2026-03-30T07:00"),
        ("0 9 * * 7", "2026-03-27T12:00", "2026-03-29T07:00"),
        ("0 9 L * *", "2026-02-01T00:00", "2026-02-28T08:00"),
        ("0 9 * * 5#1", "2026-02-10T00:00", "2026-03-06T08:00"),
    ],
)
def test_examples_in_berlin(expression: str, after: str, due: str) -> None:
    assert parse_cron(expression, "Europe/Berlin").next_after(utc(after)) == utc(due)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "every day",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "* * * * funday",
        "5-1 * * * *",
        "*/0 * * * *",
        "@daily",
        "0 9 * * mon;rm",
        "0 9 30 2 *",
        "0 9 31 2,4 *",
        "9" * 5_000 + " * * * *",
        "0 9 * * \x00",
        "0 9 * * 5#9",
    ],
)
def test_nonsense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadCron, match=r"0 9 \* \* mon-fri"):
        parse_cron(text, "UTC")


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "localtime", "../../etc/passwd", "CEST+1"])
def test_a_time_zone_that_is_none_is_named(zone: str) -> None:
    with pytest.raises(BadCron, match=r"is not a time zone\. Use an IANA name") as caught:
        parse_cron("0 9 * * *", zone)
    assert "timezone" in caught.value.fields


@pytest.mark.parametrize("text", ["* * * * *", "*/5 * * * *", "0,1 9 1 1 *", "59 23 * * *"])
def test_what_is_due_too_often_is_refused(settings: Settings, text: str) -> None:
    settings.COPILOT_MIN_SCHEDULE_SECONDS = 600.0
    if text == "59 23 * * *":
        assert parse_cron(text, "UTC").expression == text
        return
    with pytest.raises(BadCron, match="more often than every 600 seconds"):
        parse_cron(text, "UTC")


def test_every_minute_is_the_least_by_default() -> None:
    cron = parse_cron("  *  * * *   * ", "Asia/Kolkata")
    assert cron.expression == "* * * * *"
    assert cron.next_after(utc("2026-01-01T00:00:59")) == utc("2026-01-01T00:01")


def test_it_can_be_said_in_words() -> None:
    assert parse_cron("0 9 * * mon-fri", "Europe/Paris").words == (
        "At 09:00 on Monday through Friday (Europe/Paris)"
    )
