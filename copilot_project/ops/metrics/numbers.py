"""Counters and histograms that are stored as JSON and exported as metric families."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

EDGES = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)  # seconds
SEPARATOR = "\x1f"  # between the values of labels; occurs in none of them

COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ratchet_turns": ("Turns that ended, by status and end reason.", ("status", "end_reason")),
    "ratchet_takeovers": (
        "Attempts that resumed a turn of an earlier attempt, by the cause of the resumption.",
        ("cause",),
    ),
    "ratchet_tool_calls": ("Tool calls with a result, by tool and state.", ("tool", "state")),
    "ratchet_operations": ("Operations that ended, by status and end reason.", ("status", "end_reason")),
    "ratchet_executions": ("Executions that ended, by status and end reason.", ("status", "end_reason")),
    "ratchet_webhook_deliveries": ("Webhook deliveries that ended, by status.", ("status",)),
    "ratchet_tokens": ("Model tokens, by direction.", ("direction",)),
    "ratchet_cost_usd": ("Charges in US dollars, by kind.", ("kind",)),
}
HISTOGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ratchet_turn_queue_seconds": (
        "Seconds from a message to the start of its turn, recorded at its end.",
        (),
    ),
    "ratchet_turn_first_word_seconds": (
        "Seconds from the start of a turn to the first word of its answer, recorded at its end.",
        (),
    ),
    "ratchet_turn_seconds": ("Duration of turns in seconds.", ()),
    "ratchet_tool_call_seconds": ("Duration of tool calls in seconds, by tool.", ("tool",)),
    "ratchet_operation_seconds": ("Duration of operations in seconds, by tool.", ("tool",)),
    "ratchet_execution_seconds": ("Duration of executions in seconds.", ()),
}


class Numbers:
    """Counters and histograms by family and labels; a histogram is its separate buckets, then their sum."""

    def __init__(self, known: dict[str, Any] | None = None) -> None:
        known = known or {}
        self.counts: dict[str, dict[str, float]] = known.get("counts", {})
        self.times: dict[str, dict[str, list[float]]] = known.get("times", {})

    def as_json(self) -> dict[str, Any]:
        return {"counts": self.counts, "times": self.times}

    def count(self, family: str, *labels: str, by: float = 1) -> None:
        counts = self.counts.setdefault(family, {})
        key = SEPARATOR.join(labels)
        counts[key] = counts.get(key, 0) + by

    def time(self, family: str, start: datetime | None, end: datetime | None, *labels: str) -> None:
        """Record a duration, unless its start or end is missing."""
        if start is None or end is None:
            return
        seconds = max((end - start).total_seconds(), 0.0)
        buckets = self.times.setdefault(family, {}).setdefault(
            SEPARATOR.join(labels), [0.0] * (len(EDGES) + 2)
        )
        buckets[bisect_left(EDGES, seconds)] += 1
        buckets[-1] += seconds

    def families(self) -> Iterator[Metric]:
        """Yield every metric family, including empty ones."""
        for name, (text, labels) in COUNTERS.items():
            counter = CounterMetricFamily(name, text, labels=labels)
            for key, number in self.counts.get(name, {}).items():
                counter.add_metric(key.split(SEPARATOR), number)
            yield counter
        for name, (text, labels) in HISTOGRAMS.items():
            histogram = HistogramMetricFamily(name, text, labels=labels)
            empty = {} if labels else {"": [0.0] * (len(EDGES) + 2)}
            for key, buckets in (empty | self.times.get(name, {})).items():
                values = key.split(SEPARATOR) if labels else []
                histogram.add_metric(values, cumulated(buckets), buckets[-1])
            yield histogram


def cumulated(buckets: list[float]) -> list[tuple[str, float]]:
    """Convert separate buckets to the cumulative ones of Prometheus."""
    total = 0.0
    found = []
    for edge, number in zip((*map(str, EDGES), "+Inf"), buckets, strict=False):
        total += number
        found.append((edge, total))
    return found
