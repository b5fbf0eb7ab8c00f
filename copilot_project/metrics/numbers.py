"""Counts and histograms that can be added up, kept as JSON and shown as metric families."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

EDGES = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)  # seconds
SEPARATOR = "\x1f"  # between the labels of a count, in no name of ours

COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ratchet_turns": ("Turns that ended, by status and end reason.", ("status", "end_reason")),
    "ratchet_takeovers": (
        "Attempts that went on with a turn an earlier attempt had begun, by what became of that one.",
        ("cause",),
    ),
    "ratchet_tool_calls": ("Tool calls that were answered, by tool and state.", ("tool", "state")),
    "ratchet_operations": ("Operations that ended, by status and end reason.", ("status", "end_reason")),
    "ratchet_executions": ("Executions that ended, by status and end reason.", ("status", "end_reason")),
    "ratchet_webhook_deliveries": ("Webhook deliveries that ended, by status.", ("status",)),
    "ratchet_tokens": ("Model tokens.", ("direction",)),
    "ratchet_cost_usd": ("What was charged, in US dollars, by what for.", ("kind",)),
}
HISTOGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ratchet_turn_queue_seconds": ("From the message to the start of its turn; counted at its end.", ()),
    "ratchet_turn_first_word_seconds": (
        "From the start of a turn to the first word of its answer; counted at its end.",
        (),
    ),
    "ratchet_turn_seconds": ("From the start of a turn to its end.", ()),
    "ratchet_tool_call_seconds": ("How long tool calls took, by tool.", ("tool",)),
    "ratchet_operation_seconds": ("From the start of an operation to its end, by tool.", ("tool",)),
    "ratchet_execution_seconds": ("From the start of an execution to its end.", ()),
}


class Numbers:
    """Counts by family and labels; a histogram is its buckets, not added up, and the sum at the end."""

    def __init__(self, known: dict[str, Any] | None = None) -> None:
        known = known or {}
        self.counts: dict[str, dict[str, float]] = known.get("counts", {})
        self.times: dict[str, dict[str, list[float]]] = known.get("times", {})

    def as_json(self) -> dict[str, Any]:
        return {"counts": self.counts, "times": self.times}

    def count(self, family: str, *labels: str, by: float = 1) -> None:
        places = self.counts.setdefault(family, {})
        place = SEPARATOR.join(labels)
        places[place] = places.get(place, 0) + by

    def time(self, family: str, start: datetime | None, end: datetime | None, *labels: str) -> None:
        """One more span of time; nothing when it never began or never came."""
        if start is None or end is None:
            return
        seconds = max((end - start).total_seconds(), 0.0)
        buckets = self.times.setdefault(family, {}).setdefault(
            SEPARATOR.join(labels), [0.0] * (len(EDGES) + 2)
        )
        buckets[bisect_left(EDGES, seconds)] += 1
        buckets[-1] += seconds

    def families(self) -> Iterator[Metric]:
        """Every family, also those nothing was counted in yet."""
        for name, (text, labels) in COUNTERS.items():
            counter = CounterMetricFamily(name, text, labels=labels)
            for place, number in self.counts.get(name, {}).items():
                counter.add_metric(place.split(SEPARATOR), number)
            yield counter
        for name, (text, labels) in HISTOGRAMS.items():
            histogram = HistogramMetricFamily(name, text, labels=labels)
            empty = {} if labels else {"": [0.0] * (len(EDGES) + 2)}
            for place, buckets in (empty | self.times.get(name, {})).items():
                values = place.split(SEPARATOR) if labels else []
                histogram.add_metric(values, cumulated(buckets), buckets[-1])
            yield histogram


def cumulated(buckets: list[float]) -> list[tuple[str, float]]:
    """Prometheus' buckets hold all below their edge."""
    total = 0.0
    found = []
    for edge, number in zip((*map(str, EDGES), "+Inf"), buckets, strict=False):
        total += number
        found.append((edge, total))
    return found
