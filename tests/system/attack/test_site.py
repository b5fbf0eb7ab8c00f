"""The short form of `./copilot attack`: every quick attack, and made-up requests for the whole API, on one site."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

import attack.cases  # noqa: F401  # fills the table of cases
from attack.case import CASES, Case
from attack.page import cases_in_order
from attack.runner import Verdict, try_attack
from attack.site import ATTACKER, VICTIM, Site, given_site, own_site
from tests.harness import Kinds

# Attacks that go through today. They are not tried here, since some leave the site busy; whoever closes one takes it
# off the list, and `./copilot attack NUMBER` says whether it holds.
SHORT = [case for case in cases_in_order() if case.by_attack and not case.slow]


def as_parameter(case: Case) -> ParameterSet:
    return pytest.param(case, id=case.number)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with own_site() as running:
        assert running.stack is not None
        Kinds.running.append(running.stack)  # a failure shows what its processes said
        yield running
        Kinds.running.remove(running.stack)


@pytest.mark.parametrize("case", [as_parameter(case) for case in SHORT])
def test_attack_is_held(site: Site, case: Case) -> None:
    outcome = try_attack(case, site)
    if outcome.verdict is Verdict.NOT_TRIED:
        pytest.skip(outcome.detail)
    assert outcome.verdict is Verdict.HELD, outcome.line()


def test_made_up_requests_to_every_operation_are_answered_as_the_schema_says(site: Site) -> None:
    from attack.schema import try_schema

    report = try_schema(site, seed=0, examples=2)
    assert len(report.operations) > 80 and report.requests > len(report.operations)
    assert report.findings == {}


@pytest.mark.parametrize("number", ["5", "16", "26b", "33", "70", "94"])
def test_a_site_that_runs_already_is_attacked_by_its_address(site: Site, number: str) -> None:
    with given_site(site.url, site.keys[ATTACKER], site.keys[VICTIM]) as other:
        outcome = try_attack(CASES[number], other)
    assert outcome.verdict is Verdict.HELD, outcome.line()


def test_what_needs_a_site_of_its_own_is_not_tried_on_another(site: Site) -> None:
    with given_site(site.url, site.keys[ATTACKER], site.keys[VICTIM]) as other:
        assert try_attack(CASES["9"], other).verdict is Verdict.NOT_TRIED
