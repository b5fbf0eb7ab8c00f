"""Run the cases one after another and record their outcomes."""

from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from attack.case import Case, NotHere, WentThrough
from attack.site import Site
from tests.harness import ROOT

TESTS_SECONDS = 1_800
SLOW_SECONDS = 2.0  # the duration is shown from here on


class Verdict(StrEnum):
    """The result of an attack."""

    HELD = "held"
    WENT_THROUGH = "WENT THROUGH"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A case and its verdict."""

    case: Case
    verdict: Verdict
    detail: str = ""
    seconds: float = 0.0

    def line(self) -> str:
        told = f"{self.case.number:>5}  {self.case.what}; expected: {self.case.expected}: {self.verdict}"
        took = f"{self.seconds:.0f} s" if self.seconds >= SLOW_SECONDS else ""
        notes = "; ".join(filter(None, (self.detail, took)))
        return f"{told} ({notes})" if notes else told


def try_attack(case: Case, site: Site) -> Outcome:
    """Run one attack. An error in the attempt itself counts as a success of the attack: it must be looked into."""
    started = time.monotonic()
    assert case.run is not None
    verdict, detail = Verdict.HELD, ""
    try:
        case.run(site)
    except NotHere as reason:
        verdict, detail = Verdict.NOT_TRIED, str(reason)
    except WentThrough as finding:
        verdict, detail = Verdict.WENT_THROUGH, str(finding)
    except Exception as error:  # noqa: BLE001 - one broken attempt must not hide the others
        detail = f"the attempt failed: {type(error).__name__}: {error}"[:500]
        verdict = Verdict.WENT_THROUGH
    return Outcome(case=case, verdict=verdict, detail=detail, seconds=time.monotonic() - started)


def try_tests(cases: Sequence[Case]) -> list[Outcome]:
    """Run the tests that cover these cases in one pytest process."""
    ids = sorted({test for case in cases for test in case.tests})
    if not ids:
        return []
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
            *ids,
        ]
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=TESTS_SECONDS, check=False
            )
            said = done.stdout[-1_000:]
        except subprocess.TimeoutExpired:
            said = f"pytest took longer than {TESTS_SECONDS} s"
        results = read_report(report) if report.exists() else {}
    return [judge(case, results, said) for case in cases]


def judge(case: Case, results: dict[str, str], said: str) -> Outcome:
    found = {name: how for name, how in results.items() if any(belongs(name, test) for test in case.tests)}
    failed = [name for name, how in found.items() if how == "failed"]
    if failed:
        return Outcome(case=case, verdict=Verdict.WENT_THROUGH, detail=f"{failed[0]} failed")
    if not found:
        return Outcome(
            case=case, verdict=Verdict.WENT_THROUGH, detail=f"its tests did not run: {said[-300:]}"
        )
    if "passed" not in found.values():
        return Outcome(case=case, verdict=Verdict.NOT_TRIED, detail="its tests were skipped on this machine")
    return Outcome(case=case, verdict=Verdict.HELD)


def belongs(name: str, test: str) -> bool:
    """Return whether a test that ran, `package.module::function[parameters]`, matches an id."""
    path, _, function = test.partition("::")
    module = path.removesuffix(".py").replace("/", ".")
    ran_module, _, ran = name.partition("::")
    return ran_module == module and (not function or ran.partition("[")[0] == function)


def read_report(path: Path) -> dict[str, str]:
    """Return passed, failed or skipped by test, from the report of pytest."""
    found = {}
    for one in ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in one}
        how = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{one.get('classname')}::{one.get('name')}"] = how
    return found


def summary(outcomes: Iterable[Outcome]) -> str:
    """Count the cases that were run and held, by attack and by test."""
    listed = list(outcomes)
    by_attack = [one for one in listed if one.case.by_attack and one.verdict is not Verdict.NOT_TRIED]
    by_test = [one for one in listed if not one.case.by_attack and one.verdict is not Verdict.NOT_TRIED]
    left = len(listed) - len(by_attack) - len(by_test)
    text = f"tried {len(by_attack) + len(by_test)}, held {held(by_attack) + held(by_test)}"
    text += f" (by attack {held(by_attack)} of {len(by_attack)}, by test {held(by_test)} of {len(by_test)})"
    return text + (f"; {left} not tried here" if left else "")


def held(outcomes: Iterable[Outcome]) -> int:
    return sum(one.verdict is Verdict.HELD for one in outcomes)
