"""Hostile inputs for every parser, block and tool, under a budget of processor time and memory."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from attack.fuzz.budget import Batch, Finding, Target, run_batch
from benchmarks.environment import environment

BATCH, SHORT_BATCH = 15, 3
MOST_FINDINGS = 5  # of one target; after that it is left alone


@dataclass
class FuzzReport:
    """How many inputs were tried, and the findings."""

    targets: int
    rounds: float = 0.0
    tried: int = 0
    notes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def is_left_alone(self, target: Target) -> bool:
        return sum(one.target == target.name for one in self.findings) >= MOST_FINDINGS

    def add(self, batch: Batch) -> None:
        self.tried += batch.tried
        self.rounds += 1 / self.targets
        self.notes.update(batch.notes)
        self.findings += batch.findings
        for finding in batch.findings:
            print(finding, flush=True)


def main(*, seconds: float, seed: int, short: bool) -> int:
    """Fuzz all targets until the time is up, or once in the short form; print findings and return the exit code."""
    started = time.monotonic()
    with environment():
        from attack.fuzz.targets import all_targets  # needs Django set up

        report = fuzz(
            all_targets(), seconds=0.0 if short else seconds, seed=seed, size=SHORT_BATCH if short else BATCH
        )
    conclude(report, (time.monotonic() - started) / 60)
    return 1 if report.findings else 0


def fuzz(targets: Sequence[Target], *, seconds: float, seed: int, size: int) -> FuzzReport:
    """Give every target this many inputs per round until the time is up; at least one round."""
    report = FuzzReport(targets=len(targets))
    deadline = time.monotonic() + seconds
    for number in itertools.count():
        for target in targets:
            if number and time.monotonic() > deadline:
                return report
            if not report.is_left_alone(target):
                report.add(run_batch(target, seed=seed, first=number * size, count=size))
    return report


def conclude(report: FuzzReport, minutes: float) -> None:
    spread = ", ".join(f"{count:,} {note}" for note, count in report.notes.most_common())
    print(
        f"{report.tried:,} inputs to {report.targets} targets ({report.rounds:.1f} rounds) "
        f"in {minutes:.1f} minutes: {spread}."
    )
    if report.findings:
        print(f"{len(report.findings)} went over the budget or broke something.")
    else:
        print("Every one was answered in budget.")
