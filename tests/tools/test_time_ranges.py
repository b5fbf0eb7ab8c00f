"""Words for times: what each form means, and what holds for every form, in every zone, on every day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from accounts.time_zones import known_time_zones
from tools.time_ranges import TimeRange, UnknownTimeRange, read_span

BERLIN = ZoneInfo("Europe/Berlin")
TUESDAY = datetime(2026, 3, 31, 12, 0, tzinfo=UTC)  # 14:00 in Berlin, two days after the clocks went forward

ZONES = st.sampled_from(sorted(known_time_zones())).map(ZoneInfo)
MOMENTS = st.datetimes(
    min_value=datetime(2012, 2, 1),
    max_value=datetime(2037, 12, 1),
    timezones=st.just(UTC),
)
PRESENT = [
    "today", "this week", "this month", "this year", "last week", "last 7 days", "last month", "last 30 days",
    "past 24 hours", "past day", "last 3 hours", "last hour", "past 90 minutes", "since yesterday", "since monday",
    "last 2 weeks", "last 6 months", "last 2 years",
]  # fmt: skip
WHOLE_DAYS = [
    *PRESENT[:8], "yesterday", "monday", "last friday", "3 days ago", "2 weeks ago", "a month ago", "last year",
    "march", "since monday", "between 3 days ago and yesterday",
]  # fmt: skip


def span_of(words: str, zone: tzinfo = BERLIN, now: datetime = TUESDAY) -> TimeRange:
    return read_span(words, zone=zone, now=now)


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ("today", "2026-03-31"),
        ("yesterday", "2026-03-30"),
        ("Yesterday's", "2026-03-30"),
        ("the day before yesterday", "2026-03-29"),
        ("last week", "2026-03-24 to 2026-03-31"),
        ("last 7 days", "2026-03-24 to 2026-03-31"),
        ("last_7_days", "2026-03-24 to 2026-03-31"),
        ("7d", "2026-03-24 to 2026-03-31"),
        ("last month", "2026-03-01 to 2026-03-31"),
        ("the past 30 days", "2026-03-01 to 2026-03-31"),
        ("last three months", "2025-12-31 to 2026-03-31"),
        ("last year", "2025-01-01 to 2025-12-31"),
        ("last 2 years", "2024-03-31 to 2026-03-31"),
        ("this week", "2026-03-30 to 2026-04-05"),
        ("this month", "2026-03-01 to 2026-03-31"),
        ("this year", "2026-01-01 to 2026-12-31"),
        ("past 24 hours", "2026-03-30 14:00 to 2026-03-31 14:00"),
        ("last 24h", "2026-03-30 14:00 to 2026-03-31 14:00"),
        ("past day", "2026-03-30 14:00 to 2026-03-31 14:00"),
        ("last 3 hours", "2026-03-31 11:00 to 2026-03-31 14:00"),
        ("last hour", "2026-03-31 13:00 to 2026-03-31 14:00"),
        ("past 15 mins", "2026-03-31 13:45 to 2026-03-31 14:00"),
        ("monday", "2026-03-30"),
        ("on Wed", "2026-03-25"),
        ("tuesday", "2026-03-31"),
        ("last tuesday", "2026-03-24"),
        ("since monday", "2026-03-30 to 2026-03-31"),
        ("since 2026-03-01", "2026-03-01 to 2026-03-31"),
        ("since last month", "2026-03-01 to 2026-03-31"),
        ("3 days ago", "2026-03-28"),
        ("٣ days ago", "2026-03-28"),
        ("a week ago", "2026-03-23 to 2026-03-29"),
        ("one month ago", "2026-02-01 to 2026-02-28"),
        ("2 years ago", "2024-01-01 to 2024-12-31"),
        ("3 hours ago", "2026-03-31 10:00 to 2026-03-31 12:00"),
        ("this morning", "2026-03-31 00:00 to 2026-03-31 12:00"),
        ("yesterday evening", "2026-03-30 18:00 to 2026-03-31 00:00"),
        ("2026-03-05", "2026-03-05"),
        ("2026-02", "2026-02-01 to 2026-02-28"),
        ("in 2025", "2025-01-01 to 2025-12-31"),
        ("march", "2026-03-01 to 2026-03-31"),
        ("in April", "2025-04-01 to 2025-04-30"),
        ("Sept 2024", "2024-09-01 to 2024-09-30"),
        ("March 5", "2026-03-05"),
        ("5th of April", "2025-04-05"),
        ("31 Dec 2024", "2024-12-31"),
        ("feb 29", "2024-02-29"),
        ("2026-03-30T14:30", "2026-03-30 13:30 to 2026-03-30 15:30"),
        ("2026-03-30 14:30:15", "2026-03-30 13:30 to 2026-03-30 15:30"),
        ("2026-03-30T14:30:00Z", "2026-03-30 15:30 to 2026-03-30 17:30"),
        ("2026-03-30T14:30:00.5+05:30", "2026-03-30 10:00 to 2026-03-30 12:00"),
        ("yesterday at 14:30", "2026-03-30 13:30 to 2026-03-30 15:30"),
        ("monday 9am", "2026-03-30 08:00 to 2026-03-30 10:00"),
        ("2026-03-01 at 12 am", "2026-02-28 23:00 to 2026-03-01 01:00"),
        ("between March 1 and yesterday", "2026-03-01 to 2026-03-30"),
        ("from monday to today", "2026-03-30 to 2026-03-31"),
        ("2026-03-01 - 2026-03-03", "2026-03-01 to 2026-03-03"),
        ("january until february", "2026-01-01 to 2026-02-28"),
    ],
)
def test_words_mean_what_a_person_means_by_them(words: str, meaning: str) -> None:
    assert str(span_of(words)) == meaning


@pytest.mark.parametrize(
    "words", ["latest", "Newest", "most recent", "the last run", "last", "latest output"]
)
def test_latest_has_no_bounds(words: str) -> None:
    span = span_of(words)
    assert span.is_latest and span.as_filter("ended_at") == {} and span.contains(TUESDAY)
    assert str(span) == "latest"


@pytest.mark.parametrize(
    "words",
    [
        "", " ", "?", "soon", "blah", "tomorrow", "past few days", "2026-02-30", "2026-13", "feb 30", "31 june",
        "2026-03-05T25:00", "yesterday at 25:00", "yesterday at 13pm", "last week at 9am", "yesterday at 5",
        "99999 years ago", "99999 months ago", "9999-12-31", "0001-01-01", "0000", "since", "since latest",
        "between today and", "between today and yesterday", "between latest and today", "since march 2030",
        "latest; drop table", "last -3 days", "last 0x10 days", "yesterday " * 20, "1" * 100_000, "\x00", "²days ago",
        "3 days from now",
    ],
)  # fmt: skip
def test_nonsense_is_refused_with_what_works(words: str) -> None:
    with pytest.raises(UnknownTimeRange) as refused:
        span_of(words)
    reply = refused.value.reply()
    assert reply["error"] == "unknown_time"
    assert "last 7 days" in reply["next_step"] and len(reply["message"]) < 1_000


@given(st.text(max_size=200))
def test_any_text_is_a_range_or_refused(words: str) -> None:
    try:
        span = span_of(words)
    except UnknownTimeRange:
        return
    assert span.is_latest or (span.start is not None and span.end is not None and span.start <= span.end)


def test_a_span_filters_from_its_start_up_to_but_not_with_its_end() -> None:
    span = span_of("yesterday")
    first, end = datetime(2026, 3, 29, 22, tzinfo=UTC), datetime(2026, 3, 30, 22, tzinfo=UTC)
    assert span.as_filter("ended_at") == {"ended_at__gte": first, "ended_at__lt": end}
    assert span.contains(first) and not span.contains(end)
    assert span.contains(end - datetime.resolution) and not span.contains(first - datetime.resolution)


def test_the_hour_that_comes_twice_is_in_the_day_both_times() -> None:
    span = span_of("2026-10-25", now=datetime(2026, 10, 25, 12, tzinfo=UTC))
    assert span.start is not None and span.end is not None
    assert span.end - span.start == timedelta(hours=25)
    twice = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)
    hour = span_of(
        "last 90 minutes", now=datetime(2026, 10, 25, 1, 15, tzinfo=UTC)
    )  # 02:15 for the second time
    assert span.contains(twice) and span.contains(twice.replace(fold=1))
    assert hour.contains(twice) and not hour.contains(twice.replace(fold=1))


@given(words=st.sampled_from(PRESENT), zone=ZONES, now=MOMENTS)
def test_what_reaches_to_the_present_contains_now(words: str, zone: ZoneInfo, now: datetime) -> None:
    assert span_of(words, zone, now).contains(now)
    assert span_of(words, zone, now.astimezone(zone)) == span_of(words, zone, now)


@given(words=st.sampled_from(WHOLE_DAYS), zone=ZONES, now=MOMENTS)
@example(words="yesterday", zone=ZoneInfo("America/Havana"), now=datetime(2026, 11, 2, 12, tzinfo=UTC))
@example(words="yesterday", zone=ZoneInfo("Africa/Cairo"), now=datetime(2026, 4, 25, 12, tzinfo=UTC))
@example(words="3 days ago", zone=ZoneInfo("Australia/Lord_Howe"), now=datetime(2026, 10, 6, tzinfo=UTC))
def test_days_begin_and_end_where_the_date_changes(words: str, zone: ZoneInfo, now: datetime) -> None:
    span = span_of(words, zone, now)
    assert span.start is not None and span.end is not None and span.start < span.end
    for edge in (span.start, span.end):
        before, after = edge - datetime.resolution, edge
        assert before.astimezone(zone).date() < after.astimezone(zone).date()


@given(zone=ZONES, now=MOMENTS, back=st.integers(0, 400))
def test_days_follow_each_other_without_gap_or_overlap(zone: ZoneInfo, now: datetime, back: int) -> None:
    day, earlier = span_of(f"{back} days ago", zone, now), span_of(f"{back + 1} days ago", zone, now)
    assert earlier.end == day.start
    today = now.astimezone(zone).date()
    assert span_of(str(today - timedelta(days=back)), zone, now) == day


@given(zone=ZONES, now=MOMENTS)
def test_a_weekday_is_the_newest_one(zone: ZoneInfo, now: datetime) -> None:
    names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    today = now.astimezone(zone).date()
    for place, name in enumerate(names):
        start = span_of(name, zone, now).start
        assert start is not None
        day = start.astimezone(zone).date()
        assert day.weekday() == place and timedelta(0) <= today - day < timedelta(days=7)


@given(zone=ZONES, now=MOMENTS, hours=st.integers(1, 1000))
def test_hours_are_hours_whatever_the_clocks_do(zone: ZoneInfo, now: datetime, hours: int) -> None:
    span = span_of(f"last {hours} hours", zone, now.astimezone(zone))
    assert span.start == now - timedelta(hours=hours) and span.contains(now)


@given(zone=ZONES, moment=MOMENTS)
def test_a_moment_is_found_an_hour_either_side(zone: ZoneInfo, moment: datetime) -> None:
    local = moment.astimezone(zone).replace(fold=0)
    assume(local.astimezone(UTC) == moment)  # not the second time round
    exact = span_of(moment.isoformat(), zone, moment)
    assert (exact.start, exact.end) == (moment - timedelta(hours=1), moment + timedelta(hours=1))
    assert span_of(local.replace(tzinfo=None).isoformat(), zone, moment) == exact


@given(zone=ZONES, now=MOMENTS, month=st.integers(1, 12))
def test_a_month_without_a_year_has_begun_and_is_less_than_a_year_old(
    zone: ZoneInfo, now: datetime, month: int
) -> None:
    start = span_of(date(2000, month, 1).strftime("%B"), zone, now).start
    assert start is not None
    first, today = start.astimezone(zone).date(), now.astimezone(zone).date()
    assert first.month == month and first <= today
    assert (today.year - first.year) * 12 + today.month - first.month < 12


def test_a_day_that_a_country_left_out_is_empty() -> None:
    apia = span_of("2011-12-30", ZoneInfo("Pacific/Apia"), datetime(2012, 1, 5, tzinfo=UTC))
    assert apia.start == apia.end
