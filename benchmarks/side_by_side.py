"""Compare with a baseline: both alternate in one run, reported with median, spread, ratio and goal."""

from __future__ import annotations

import enum
import json
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
REPETITIONS = 5


class Size(enum.Enum):
    """How much a run measures."""

    TINY = "tiny"  # does it run at all
    QUICK = "quick"  # all benchmarks in about two minutes
    FULL = "full"  # the figures in docs/reference/performance.md

    def pick(self, tiny: T, quick: T, full: T) -> T:
        return {Size.TINY: tiny, Size.QUICK: quick, Size.FULL: full}[self]

    @property
    def repetitions(self) -> int:
        return self.pick(1, 3, REPETITIONS)


# --- values ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """One quantity, measured several times."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Series:
        found = tuple(values)
        if not found:
            raise ValueError("A series needs at least one value.")
        return cls(found)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def quantile(self, share: float) -> float:
        """Return the percentile `share` (nearest rank)."""
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A goal: a limit on the ratio to the baseline, or on the value itself."""

    limit: float
    of_ratio: bool = False
    at_least: bool = False

    def is_met(self, row: Row) -> bool:
        value = row.ratio if self.of_ratio else row.ours.median
        return value is not None and (value >= self.limit if self.at_least else value <= self.limit)

    def text(self, unit: str) -> str:
        sign = ">=" if self.at_least else "<="
        return (
            f"{sign} {self.limit:.2f}x" if self.of_ratio else f"{sign} {number(self.limit)} {unit}".rstrip()
        )


def ratio_at_most(limit: float) -> Goal:
    return Goal(limit=limit, of_ratio=True)


def at_most(limit: float) -> Goal:
    return Goal(limit=limit)


def at_least(limit: float) -> Goal:
    return Goal(limit=limit, at_least=True)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table: our value, and that of the baseline if there is one."""

    what: str
    unit: str
    ours: Series
    baseline: Series | None = None
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        if self.baseline is None or not self.baseline.median:
            return None
        return self.ours.median / self.baseline.median

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return "-"
        return "ok" if self.goal.is_met(self) else "MISS"

    def cells(self) -> list[str]:
        ratio = "-" if self.ratio is None else f"{self.ratio:.2f}x"
        goal = "-" if self.goal is None else self.goal.text(self.unit)
        return [
            self.what,
            shown(self.baseline, self.unit),
            shown(self.ours, self.unit),
            ratio,
            goal,
            self.verdict,
        ]


HEADS = ["what", "baseline: median (low-high)", "ours: median (low-high)", "ratio", "goal", ""]


@dataclass
class Report:
    """The table of one benchmark, and the remarks below it."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(
        self,
        what: str,
        unit: str,
        ours: Series | float,
        baseline: Series | None = None,
        goal: Goal | None = None,
    ) -> Row:
        series = ours if isinstance(ours, Series) else Series.of([ours])
        row = Row(what=what, unit=unit, ours=series, baseline=baseline, goal=goal)
        self.rows.append(row)
        return row

    def remark(self, text: str) -> None:
        self.remarks.append(text)

    def text(self) -> str:
        lines = [f"{self.name}: {self.title}", *table(HEADS, [row.cells() for row in self.rows])]
        return "\n".join(lines + [f"  {remark}" for remark in self.remarks])

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "rows": [row.cells() for row in self.rows], "remarks": self.remarks}

    def keep(self, path: Path) -> None:
        """Add this report to the file from which the summary of a whole run is made."""
        with path.open("a") as file:
            file.write(json.dumps(self.as_json()) + "\n")


# --- measuring ------------------------------------------------------------------------------------


def alternate(ways: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, Series]:
    """Measure each variant in turn repeatedly, so that a noisy minute affects all of them."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repetitions):
        for name, way in ways.items():
            found[name].append(way())
    return {name: Series.of(values) for name, values in found.items()}


def cpu_per_item(work: Callable[[], object], items: int) -> float:
    """Return the CPU of this process (all threads) per item, in microseconds."""
    started = time.process_time()
    work()
    return (time.process_time() - started) / items * 1e6


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that another process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(pid: int) -> float:
    """Return the memory that another process uses now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def noise() -> str:
    """Describe how noisy this machine is: the best and worst of ten runs of a fixed loop, and the load."""
    spans = []
    for _ in range(10):
        started = time.perf_counter()
        sum(range(300_000))
        spans.append((time.perf_counter() - started) * 1000)
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, load {load:.1f}, a fixed loop takes {min(spans):.1f}-{max(spans):.1f} ms"


# --- tables ---------------------------------------------------------------------------------------


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Format rows with aligned columns: the first left, the others right."""
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(len(heads))]
    return [f"  {line(row, widths)}" for row in [heads, *rows]]


def line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return "  ".join(cells).rstrip()


def shown(series: Series | None, unit: str) -> str:
    if series is None:
        return "-"
    spread = f" ({number(series.low)}-{number(series.high)})" if len(series.values) > 1 else ""
    return f"{number(series.median)} {unit}{spread}".strip()


def number(value: float) -> str:
    """Format with three significant digits."""
    if value and abs(value) < 10:
        return f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"
