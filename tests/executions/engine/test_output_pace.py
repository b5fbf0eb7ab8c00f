"""Outputs of a running execution: soon visible, and not written anew for each of them."""

from __future__ import annotations

from executions import limits
from executions.engine.commit_batch import OutputPace


def written(counts: list[int]) -> list[int]:
    """The counts that are written, looked at once a second."""
    pace = OutputPace(0.0)
    return [count for second, count in enumerate(counts) if pace.is_due(count, float(second))]


def test_first_outputs_are_written_as_they_come() -> None:
    assert written([0, 1, 2, 3, 4, 4, 5]) == [1, 2, 3, 4, 5]


def test_many_outputs_are_written_a_bounded_number_of_times() -> None:
    fast = written([100 * second for second in range(1, 1_000)])
    assert sum(fast) <= 100_000 * (1 / (1 - 1 / limits.OUTPUTS_GROWTH) + 1_000 / limits.OUTPUTS_STALE_SECONDS)
    assert len(fast) < 80


def test_no_output_waits_for_longer_than_a_while() -> None:
    counts = [1_000] + [1_000 + second for second in range(1, 200)]
    gaps = [later - earlier for earlier, later in zip(written(counts), written(counts)[1:], strict=False)]
    assert gaps and max(gaps) <= limits.OUTPUTS_STALE_SECONDS


def test_nothing_new_is_never_written() -> None:
    assert written([7] * 500) == [7]
