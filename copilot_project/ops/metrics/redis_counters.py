"""Counters of events without a row, which all processes keep in Redis."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from durable import counters
from durable.counters import CounterBuffer

HELP = {
    CounterBuffer.FENCED_WRITES: "Writes refused because another attempt owned the job.",
    CounterBuffer.RESYNCS: "Readers that missed events and were resynchronised from the log or the database.",
    CounterBuffer.DROPPED_CLIENTS: "Clients that were disconnected because they did not read.",
    CounterBuffer.MODEL_ERRORS: "Failed requests to the model, by kind; most are retried.",
}
LABELS = {CounterBuffer.MODEL_ERRORS: "kind"}


def collect() -> Iterator[Metric]:
    """Yield the counters; nothing without Redis, so that the graph shows a gap."""
    found = counters.read()
    if found is None:
        return
    for tally, text in HELP.items():
        label = LABELS.get(tally)
        family = CounterMetricFamily(f"ratchet_{tally}", text, labels=[label] if label else [])
        rows = {value: number for (name, value), number in found.items() if name == tally}
        for value, number in (rows or ({} if label else {"": 0})).items():
            family.add_metric([value] if label else [], number)
        yield family
