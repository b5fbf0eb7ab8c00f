"""The harness: medians, spreads, ratios, goals and tables, without measuring anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.side_by_side import (
    Report,
    Row,
    Series,
    Size,
    alternate,
    at_least,
    at_most,
    cpu_per_item,
    cpu_seconds,
    number,
    ratio_at_most,
    resident_megabytes,
    table,
)


def test_series_has_median_spread_and_quantiles() -> None:
    series = Series.of([3, 1, 2, 10, 4])
    assert (series.median, series.low, series.high) == (3, 1, 10)
    assert series.quantile(0.99) == 10
    assert Series.of([7]).quantile(0.99) == 7


def test_empty_series_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Series.of([])


def test_ways_are_measured_in_turn() -> None:
    order: list[str] = []

    def way(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = alternate({"baseline": lambda: way("baseline"), "ours": lambda: way("ours")}, 3)
    assert order == ["baseline", "ours"] * 3
    assert found["ours"].values == (2.0, 4.0, 6.0)


@pytest.mark.parametrize(
    ("ours", "baseline", "goal", "verdict"),
    [
        (2.0, 4.0, ratio_at_most(0.5), "ok"),
        (3.0, 4.0, ratio_at_most(0.5), "MISS"),
        (3.0, None, ratio_at_most(0.5), "MISS"),
        (3.0, 0.0, ratio_at_most(0.5), "MISS"),
        (128.0, None, at_least(128), "ok"),
        (127.0, None, at_least(128), "MISS"),
        (0.3, None, at_most(0.3), "ok"),
        (0.4, None, None, "-"),
    ],
)
def test_verdict_follows_from_the_goal(
    ours: float, baseline: float | None, goal: object, verdict: str
) -> None:
    row = Row(
        what="x",
        unit="us",
        ours=Series.of([ours]),
        baseline=None if baseline is None else Series.of([baseline]),
        goal=goal,  # type: ignore[arg-type]
    )
    assert row.verdict == verdict


def test_report_prints_a_table_and_is_kept_for_the_summary(tmp_path: Path) -> None:
    report = Report("demo", "what it costs")
    report.add("a thing", "us", Series.of([10, 12, 11]), Series.of([20, 22, 21]), ratio_at_most(0.6))
    report.remark("on a quiet machine")
    lines = report.text().splitlines()
    assert lines[0] == "demo: what it costs"
    assert " ".join(lines[2].split()) == "a thing 21.0 us (20.0-22.0) 11.0 us (10.0-12.0) 0.52x <= 0.60x ok"
    assert lines[3].strip() == "on a quiet machine"
    report.keep(tmp_path / "kept")
    report.keep(tmp_path / "kept")
    kept = [json.loads(line) for line in (tmp_path / "kept").read_text().splitlines()]
    assert [one["name"] for one in kept] == ["demo", "demo"]


def test_table_aligns_its_columns() -> None:
    assert table(["name", "n"], [["a", "1"], ["long name", "100"]]) == [
        "  name         n",
        "  a            1",
        "  long name  100",
    ]


def test_numbers_have_the_digits_that_count() -> None:
    assert [number(value) for value in (0, 0.1234, 1.234, 12.34, 1234.5)] == [
        "0.0",
        "0.123",
        "1.23",
        "12.3",
        "1,234",
    ]


def test_sizes_pick_their_own_value() -> None:
    assert [size.pick("t", "q", "f") for size in Size] == ["t", "q", "f"]
    assert Size.FULL.repetitions >= 5


def test_own_process_has_cpu_and_memory() -> None:
    import os

    assert cpu_per_item(lambda: sum(range(100_000)), 10) > 0
    assert cpu_seconds(os.getpid()) > 0
    assert resident_megabytes(os.getpid()) > 1
