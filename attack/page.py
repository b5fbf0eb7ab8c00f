"""The generated table of docs/reference/attacks.md: every case and its result in the last full run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attack.case import CASES, Case, Section
from attack.runner import Outcome, Verdict
from tests.harness import ROOT

PAGE = ROOT / "docs" / "reference" / "attacks.md"
BEGIN, END = "<!-- attack: table -->", "<!-- attack: end -->"
ROW = re.compile(r"^\| (?P<number>\d+[a-z]?) \|.*\| (?P<how>[^|]*) \|$")
NOT_RUN = "not run yet"


def write(outcomes: Iterable[Outcome]) -> None:
    """Write the table with these outcomes; cases that were not run keep their previous result."""
    text = PAGE.read_text()
    known = results_in(text)
    for outcome in outcomes:
        if outcome.verdict is not Verdict.NOT_TRIED or outcome.case.number not in known:
            known[outcome.case.number] = str(outcome.verdict)
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n{table(known)}{END}{tail}")


def results_in(text: str) -> dict[str, str]:
    """Return the result of each case on a page, by number."""
    rows = (ROW.match(line) for line in text.splitlines())
    return {row["number"]: row["how"] for row in rows if row}


def cases_in_order(section: Section | None = None) -> list[Case]:
    chosen = [case for case in CASES.values() if section in (None, case.section)]
    return sorted(chosen, key=lambda case: case.order)


def table(known: dict[str, str]) -> str:
    lines = ["", "| section | cases | tried by attack | proven by tests | held |", "|---|---|---|---|---|"]
    everything = cases_in_order()
    for name, cases in [
        *((str(section), cases_in_order(section)) for section in Section),
        ("**all**", everything),
    ]:
        lines.append(f"| {name} | {' | '.join(map(str, counts(cases, known)))} |")
    for section in Section:
        lines += [
            "",
            f"### {section}",
            "",
            "| case | tried | expected | how | result |",
            "|---|---|---|---|---|",
        ]
        lines += [row(case, known.get(case.number, NOT_RUN)) for case in cases_in_order(section)]
    return "\n".join(lines) + "\n\n"


def counts(cases: Sequence[Case], known: dict[str, str]) -> tuple[int, int, int, int]:
    by_attack = sum(case.by_attack for case in cases)
    held = sum(known.get(case.number) == Verdict.HELD for case in cases)
    return len(cases), by_attack, len(cases) - by_attack, held


def row(case: Case, result: str) -> str:
    how = "attack" if case.by_attack else "test"
    what, expected = (text.replace("|", "\\|") for text in (case.what, case.expected))
    return f"| {case.number} | {what} | {expected} | {how} | {result} |"
