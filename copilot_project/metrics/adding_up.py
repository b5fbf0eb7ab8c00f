"""Adding rows up once: old ones into a running total, and only the newest minutes anew at each look.

A row is final when it has ended; nothing of it changes after that, and retention may delete it. So a scrape costs
the rows of the last minutes, however many there are in the table. Between the moment a row bears and the moment it can
be seen lies a commit: what is younger than SETTLED_SECONDS is therefore never put into the total.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.utils import timezone

from copilot_project.metrics.models import RunningTotal
from copilot_project.metrics.numbers import Numbers
from copilot_project.metrics.sources import SOURCES, Source
from durable import limits

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def everything() -> Numbers:
    """All that was ever counted, up to now."""
    total = Numbers()
    for source in SOURCES:
        merge(total, count_of(source))
    return total


def count_of(source: Source) -> Numbers:
    known = advance(source)
    numbers = Numbers(known.numbers)
    add_rows(numbers, source, known.until)
    return numbers


def advance(source: Source) -> RunningTotal:
    """Put what has settled into the total, a piece at a time. Safe with any number of processes: each piece is one
    conditional UPDATE, and who comes second takes what the first has written."""
    settled = timezone.now() - timedelta(seconds=limits.METRICS_SETTLED_SECONDS)
    while True:
        known, _ = RunningTotal.objects.get_or_create(
            source=source.name, defaults={"until": BEGINNING, "numbers": {}}
        )
        if settled - known.until < timedelta(seconds=limits.METRICS_STEP_SECONDS):
            return known
        until = end_of_piece(source, known.until, settled)
        numbers = Numbers(known.numbers)
        add_rows(numbers, source, known.until, until)
        RunningTotal.objects.filter(source=source.name, until=known.until).update(
            until=until, numbers=numbers.as_json()
        )


def end_of_piece(source: Source, start: datetime, settled: datetime) -> datetime:
    """So far that it is not too much at once; at least one moment, should all rows bear the same."""
    times = source.between(start, settled).order_by(source.at).values_list(source.at, flat=True)
    later = times[limits.METRICS_PIECE_ROWS : limits.METRICS_PIECE_ROWS + 1]
    until: datetime | None = next(iter(later), None)
    return settled if until is None else max(until, start + timedelta(microseconds=1))


def add_rows(numbers: Numbers, source: Source, start: datetime, end: datetime | None = None) -> None:
    rows = source.between(start, end).order_by().values_list(*source.columns, named=True)
    for row in rows.iterator(chunk_size=2_000):
        source.add(numbers, row)


def merge(total: Numbers, part: Numbers) -> None:
    """Each family comes from one source."""
    total.counts |= part.counts
    total.times |= part.times
