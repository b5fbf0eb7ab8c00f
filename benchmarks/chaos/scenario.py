"""The definition of a fault scenario, and the table of all scenarios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.chaos.field import Field


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A fault and how to inject it."""

    name: str
    what: str
    run: Callable[[Field], None]
    in_short: bool
    only_named: bool
    on_production: bool
    why_not: Callable[[], str]


SCENARIOS: dict[str, Scenario] = {}
NOT_HERE = {"F2": "a turn's worker is one process with threads: there is no pool child to kill"}


def scenario(
    name: str,
    what: str,
    *,
    short: bool = False,
    only_named: bool = False,
    on_production: bool = False,
    why_not: Callable[[], str] = str,
) -> Callable[[Any], Any]:
    """Register a scenario. `why_not` returns what this machine lacks for it, or ""."""

    def add(run: Callable[[Field], None]) -> Callable[[Field], None]:
        SCENARIOS[name] = Scenario(
            name=name,
            what=what,
            run=run,
            in_short=short,
            only_named=only_named,
            on_production=on_production,
            why_not=why_not,
        )
        return run

    return add
