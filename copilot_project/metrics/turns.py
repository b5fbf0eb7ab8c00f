"""What became of turns, and how long people waited."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from chat.models import Attempt, Turn
from copilot_project.metrics.families import by_labels, durations


def collect() -> Iterator[Metric]:
    labels = {"status": "status", "end_reason": "end_reason"}
    yield by_labels("ratchet_turns", "Turns by status and end reason.", Turn.objects.all(), labels)
    yield durations(
        "ratchet_turn_queue_seconds",
        "From the message to the start of its turn.",
        Turn.objects.all(),
        start="queued_at",
        end="started_at",
    )
    yield durations(
        "ratchet_turn_first_word_seconds",
        "From the start of a turn to the first word of its answer.",
        Turn.objects.all(),
        start="started_at",
        end="first_word_at",
    )
    yield durations(
        "ratchet_turn_seconds",
        "From the start of a turn to its end.",
        Turn.objects.all(),
        start="started_at",
        end="ended_at",
    )
    takeovers = CounterMetricFamily(
        "ratchet_takeovers", "Attempts that went on with a turn another worker had begun."
    )
    takeovers.add_metric([], Attempt.objects.filter(number__gt=1).count())
    yield takeovers
