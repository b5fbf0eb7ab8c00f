"""The table of attacks: complete, true to the tests it names, and as docs/reference/attacks.md shows it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import attack.cases  # noqa: F401  # fills the table of cases
from attack import page
from attack.__main__ import choose, main
from attack.case import CASES, Case, NotHere, Section, WentThrough, expect
from attack.runner import Outcome, Verdict, belongs, judge, summary, try_attack
from attack.site import Site
from tests.harness import ROOT

FIRST_LIST = range(1, 121)


def a_case(**fields: object) -> Case:
    known = {"number": "1", "section": Section.AUTH, "what": "x", "expected": "y"}
    return Case(**(known | fields))  # type: ignore[arg-type]


def raising(error: Exception) -> Case:
    def run(site: Site) -> None:
        raise error

    return a_case(run=run)


def test_every_number_of_the_first_list_has_a_case() -> None:
    numbers = {case.order[0] for case in CASES.values()}
    assert numbers >= set(FIRST_LIST)


def test_every_case_is_tried_or_proven() -> None:
    assert [case.number for case in CASES.values() if not case.run and not case.tests] == []


def named_tests() -> Iterator[tuple[str, str]]:
    for case in CASES.values():
        yield from ((case.number, test) for test in case.tests)


@pytest.mark.parametrize(("number", "test"), list(named_tests()))
def test_every_test_that_proves_a_case_exists(number: str, test: str) -> None:
    path, _, name = test.partition("::")
    assert (ROOT / path).exists(), f"case {number} names {path}"
    assert not name or name in functions_of(ROOT / path), f"case {number} names {test}"


@cache
def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_the_page_lists_exactly_these_cases() -> None:
    text = page.PAGE.read_text()
    shown = text.partition(page.BEGIN)[2].partition(page.END)[0]
    assert shown.strip() == page.table(page.results_in(text)).strip(), "run ./copilot attack --write-docs"


def test_results_are_written_into_the_page_and_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "attacks.md"
    copy.write_text(f"# Head\n{page.BEGIN}\n{page.table({'2': 'held'})}{page.END}\ntail\n")
    monkeypatch.setattr(page, "PAGE", copy)
    page.write([Outcome(case=CASES["1"], verdict=Verdict.WENT_THROUGH)])
    results = page.results_in(copy.read_text())
    assert (results["1"], results["2"], results["3"]) == ("WENT THROUGH", "held", page.NOT_RUN)
    assert copy.read_text().startswith("# Head\n") and copy.read_text().endswith("tail\n")


@pytest.mark.parametrize(
    ("error", "verdict", "words"),
    [
        (WentThrough("it read the file"), Verdict.WENT_THROUGH, "it read the file"),
        (NotHere("no sandbox"), Verdict.NOT_TRIED, "no sandbox"),
        (KeyError("id"), Verdict.WENT_THROUGH, "the attempt failed: KeyError"),
    ],
)
def test_what_an_attack_raises_is_its_verdict(error: Exception, verdict: Verdict, words: str) -> None:
    outcome = try_attack(raising(error), None)  # type: ignore[arg-type]
    assert outcome.verdict is verdict and words in outcome.detail
    assert str(verdict) in outcome.line() and words in outcome.line()


def test_an_attack_that_raises_nothing_was_held() -> None:
    assert try_attack(a_case(run=lambda site: expect(True, "")), None).verdict is Verdict.HELD  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ({"tests.a::test_b[1]": "passed", "tests.a::test_c": "failed"}, Verdict.HELD),
        ({"tests.a::test_b[1]": "passed", "tests.a::test_b[2]": "failed"}, Verdict.WENT_THROUGH),
        ({"tests.a::test_b": "skipped"}, Verdict.NOT_TRIED),
        ({"tests.a::test_c": "passed"}, Verdict.WENT_THROUGH),
    ],
)
def test_a_case_by_test_is_held_only_if_its_tests_ran_and_passed(
    results: dict[str, str], verdict: Verdict
) -> None:
    assert judge(a_case(tests=("tests/a.py::test_b",)), results, "").verdict is verdict


def test_a_whole_file_of_tests_can_prove_a_case() -> None:
    assert belongs("tests.a.test_b::test_c[x]", "tests/a/test_b.py")
    assert not belongs("tests.a.test_bc::test_c", "tests/a/test_b.py")


def test_attacks_and_tests_are_counted_apart() -> None:
    tried = a_case(run=lambda site: None)
    outcomes = [
        Outcome(case=tried, verdict=Verdict.HELD),
        Outcome(case=tried, verdict=Verdict.WENT_THROUGH),
        Outcome(case=a_case(tests=("x",)), verdict=Verdict.HELD),
        Outcome(case=tried, verdict=Verdict.NOT_TRIED),
    ]
    assert summary(outcomes) == "tried 3, held 2 (by attack 1 of 2, by test 1 of 1); 1 not tried here"


def test_cases_are_chosen_by_number_and_by_section() -> None:
    chosen = choose(["1", "ssrf"])
    assert chosen is not None
    assert {case.section for case in chosen} == {Section.AUTH, Section.SSRF}
    assert [case.number for case in chosen if case.section is Section.AUTH] == ["1"]


def test_an_unknown_case_is_named_and_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["999"]) == 2
    assert "999: no such case" in capsys.readouterr().out


def test_the_list_shows_every_case_and_tries_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "attack", "--list"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(CASES)


def test_another_site_is_attacked_only_with_keys_of_two_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTACK_KEY", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["1", "--url", "http://127.0.0.1:1"])
    assert ended.value.code == 2
