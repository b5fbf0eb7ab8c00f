"""What leaves no row: counted by all processes together in Redis."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from durable import tallies
from durable.tallies import Tally

HELP = {
    Tally.FENCED_WRITES: "Writes refused because another attempt owned the job.",
    Tally.RESYNCS: "Readers that had missed something and were brought up to date from log or database.",
    Tally.DROPPED_CLIENTS: "Clients let go because they did not read.",
    Tally.MODEL_ERRORS: "Requests to the model that failed, by kind; most are tried again.",
}
LABELS = {Tally.MODEL_ERRORS: "kind"}


def collect() -> Iterator[Metric]:
    """Without Redis there is nothing to say; the gap in the graph says that."""
    found = tallies.read()
    if found is None:
        return
    for tally, text in HELP.items():
        label = LABELS.get(tally)
        family = CounterMetricFamily(f"ratchet_{tally}", text, labels=[label] if label else [])
        rows = {place: number for (name, place), number in found.items() if name == tally}
        for place, number in (rows or ({} if label else {"": 0})).items():
            family.add_metric([place] if label else [], number)
        yield family
