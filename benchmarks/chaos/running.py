"""Run scenarios one after another on one stack, and print a table of the results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.chaos import (  # noqa: F401  # importing them registers their scenarios
    clocks,
    invariants,
    operators,
    postgresql,
    rabbitmq,
    scenarios,
    workers,
)
from benchmarks.chaos.field import Field
from benchmarks.chaos.invariants import Findings
from benchmarks.chaos.scenario import NOT_HERE, SCENARIOS, Scenario
from benchmarks.chaos.stacks import ChaosStack, ProductionStack
from benchmarks.side_by_side import Series, number, table

HEADS = ["scenario", "turns", "faults", "hit", "lost", "doubled", "stuck", "unlike db", "other", "attempts",
         "recovery p50/p95/max s", "wall s"]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Result:
    scenario: Scenario
    field: Field
    findings: Findings
    seconds: float

    def cells(self) -> list[str]:
        found, field = self.findings, self.field
        counts = [len(found.lost), len(found.doubled), len(found.stuck), len(found.unlike), len(found.other)]
        return [
            f"{self.scenario.name} {self.scenario.what}",
            *map(str, [len(field.recorded), len(field.blows), field.hits, *counts, field.attempts()]),
            spread(field.recoveries()),
            number(self.seconds),
        ]


def choose(names: Sequence[str], stack: ChaosStack, *, short: bool) -> list[Scenario] | None:
    """Return the scenarios to run, or None if a name is unknown; print that, and why some do not apply here."""
    unknown = [name for name in names if name not in SCENARIOS and name not in NOT_HERE]
    if unknown:
        print(f"{unknown[0]}: there is no such scenario; there is {', '.join(SCENARIOS)}.", flush=True)
        return None
    wanted = []
    for name in names or [*NOT_HERE, *sorted(SCENARIOS, key=place)]:
        scenario = SCENARIOS.get(name)
        left_out = scenario is not None and (not scenario.in_short if short else scenario.only_named)
        if left_out and not names:
            continue
        if reason := why_not(name, stack):
            print(f"{name}: not run here: {reason}.", flush=True)
        elif scenario is not None:
            wanted.append(scenario)
    return wanted


def place(name: str) -> int:
    """Return the number of a scenario, for sorting."""
    return int(name.removeprefix("F"))


def why_not(name: str, stack: ChaosStack) -> str:
    """Return why a scenario cannot run on this stack or machine, or ""."""
    if name in NOT_HERE:
        return NOT_HERE[name]
    scenario = SCENARIOS[name]
    if scenario.on_production and not isinstance(stack, ProductionStack):
        return "it needs servers of its own, add --stack production"
    return scenario.why_not()


def run_all(stack: ChaosStack, wanted: Sequence[Scenario], *, short: bool) -> bool:
    """Return whether an invariant was violated."""
    results = [run(stack, scenario, short=short) for scenario in wanted]
    print("\n" + "\n".join(table(HEADS, [result.cells() for result in results])))
    broken = [finding for result in results for finding in result.findings.all]
    print(f"\n{'Every promise was kept.' if not broken else f'{len(broken)} things did not hold.'}")
    return bool(broken)


def run(stack: ChaosStack, scenario: Scenario, *, short: bool) -> Result:
    field = Field(stack, short, stack.workers)
    started = time.monotonic()
    broken = ""
    try:
        scenario.run(field)
        field.revive()
    except AssertionError as error:  # a wait that timed out is a violation too
        broken = f"the scenario stopped: {error}"
    findings = invariants.check(stack, field.recorded)
    findings.other += [*field.wrong, *([broken] if broken else [])]
    result = Result(scenario=scenario, field=field, findings=findings, seconds=time.monotonic() - started)
    notes = "; ".join(f"{name}: {value}" for name, value in field.notes.items())
    print(
        f"{scenario.name} {scenario.what}: {number(result.seconds)} s; {findings.failed} ended badly; {notes}",
        flush=True,
    )
    for finding in findings.all[:10]:
        print(f"    {finding}", flush=True)
    return result


def spread(values: Sequence[float]) -> str:
    if not values:
        return "-"
    series = Series.of(values)
    return f"{series.median:.1f} / {series.quantile(0.95):.1f} / {series.high:.1f}"
