"""Count final rows once: old ones are kept as a running total, and a scrape counts only the last minutes.

A row is final when it has ended: it does not change after that, and retention may delete it. A row becomes visible only
when it is committed, some time after the timestamp it carries, so rows younger than METRICS_SETTLED_SECONDS are never
added to the total.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.utils import timezone

from copilot_project import limits
from copilot_project.ops.metrics.models import RunningTotal
from copilot_project.ops.metrics.numbers import Numbers
from copilot_project.ops.metrics.sources import SOURCES, CountedTable

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def everything() -> Numbers:
    """Return all counters and histograms up to now."""
    total = Numbers()
    for source in SOURCES:
        merge(total, count_of(source))
    return total


def count_of(source: CountedTable) -> Numbers:
    known = advance(source)
    numbers = Numbers(known.numbers)
    add_rows(numbers, source, known.until)
    return numbers


def advance(source: CountedTable) -> RunningTotal:
    """Add settled rows to the total, in batches. Safe with any number of processes: each batch is one conditional
    UPDATE, and a process that comes second uses the result of the first."""
    settled = timezone.now() - timedelta(seconds=limits.METRICS_SETTLED_SECONDS)
    while True:
        known, _ = RunningTotal.objects.get_or_create(
            source=source.name, defaults={"until": BEGINNING, "numbers": {}}
        )
        if settled - known.until < timedelta(seconds=limits.METRICS_STEP_SECONDS):
            return known
        until = end_of_batch(source, known.until, settled)
        numbers = Numbers(known.numbers)
        add_rows(numbers, source, known.until, until)
        RunningTotal.objects.filter(source=source.name, until=known.until).update(
            until=until, numbers=numbers.as_json()
        )


def end_of_batch(source: CountedTable, start: datetime, settled: datetime) -> datetime:
    """Return the end of the next batch; at least a microsecond on, in case all rows carry the same time."""
    times = source.between(start, settled).order_by(source.at).values_list(source.at, flat=True)
    later = times[limits.METRICS_BATCH_ROWS : limits.METRICS_BATCH_ROWS + 1]
    until: datetime | None = next(iter(later), None)
    return settled if until is None else max(until, start + timedelta(microseconds=1))


def add_rows(numbers: Numbers, source: CountedTable, start: datetime, end: datetime | None = None) -> None:
    rows = source.between(start, end).order_by().values_list(*source.columns, named=True)
    for row in rows.iterator(chunk_size=2_000):
        source.add(numbers, row)


def merge(total: Numbers, part: Numbers) -> None:
    """Add the families of a source; each family comes from one source."""
    total.counts |= part.counts
    total.times |= part.times
