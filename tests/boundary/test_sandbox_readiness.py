"""The self-test of the sandbox stands in nobody's way, and one that failed is not the last word."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat
from pathlib import Path

import pytest

from boundary import limits
from boundary.errors import SandboxBusy, SandboxUnavailable
from boundary.sandbox import (
    SandboxCheck,
    SandboxReport,
    available,
    run_in_workdir,
    self_test,
    wait_until_tested,
)
from boundary.sandbox.readiness import SelfTest, broken
from boundary.sandbox.slots import claim_slot
from boundary.sandbox.types import SandboxRequest
from durable.per_process import PerProcess
from tests.boundary.test_sandbox import wait_until

PASSED = SandboxReport(checks=(SandboxCheck(name="files", passed=True),))
LONG = 20.0


class Probe:
    """A test that goes on until it is let go; each one begun takes the next outcome, the last one for ever."""

    def __init__(self, *outcomes: SandboxReport | Exception) -> None:
        self.outcomes = list(outcomes)
        self.begun = 0
        self.let_go = threading.Event()

    def __call__(self) -> SandboxReport:
        self.begun += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        assert self.let_go.wait(LONG)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def done(*outcomes: SandboxReport | Exception) -> Probe:
    """The same, but it ends at once."""
    probe = Probe(*outcomes)
    probe.let_go.set()
    return probe


def test_nobody_waits_for_a_test_that_is_under_way() -> None:
    probe = Probe(PASSED)
    test = SelfTest(probe=probe)
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: test.passed(), range(50), timeout=LONG))
    assert not any(answers)
    assert not test.ended.is_set(), "the answers came before the test ended"
    assert probe.begun == 1
    probe.let_go.set()
    assert test.wait(LONG).passed
    assert test.passed()
    assert probe.begun == 1


def test_who_waits_for_a_test_that_hangs_waits_no_longer_than_asked() -> None:
    probe = Probe(PASSED)
    test = SelfTest(probe=probe)
    report = test.wait(0.01)
    assert not report.passed
    assert "did not finish" in report.reason
    probe.let_go.set()


def test_a_test_that_hangs_counts_as_lost_after_its_deadline_and_another_is_begun() -> None:
    hanging, good = Probe(PASSED), done(PASSED)
    probes: Iterator[Callable[[], SandboxReport]] = chain([hanging], repeat(good))
    test = SelfTest(probe=lambda: next(probes)(), deadline_seconds=0.0)
    assert not test.passed()
    wait_until(lambda: hanging.begun)
    assert test.wait(LONG).passed
    assert not hanging.let_go.is_set()
    hanging.let_go.set()


@pytest.mark.parametrize(
    "failure", [broken("the machine was busy"), SandboxBusy(), OSError(24, "Too many open files")]
)
def test_a_test_that_failed_is_run_again(failure: SandboxReport | Exception) -> None:
    probe = done(failure, failure, PASSED)
    test = SelfTest(probe=probe, retry_seconds=0.0)
    assert not test.wait(LONG).passed
    wait_until(test.passed)
    assert probe.begun == 3


def test_a_test_that_failed_just_now_is_not_run_for_everybody_who_asks() -> None:
    probe = done(broken("no"))
    test = SelfTest(probe=probe, retry_seconds=LONG)
    for _ in range(5):
        assert not test.wait(LONG).passed
        assert not test.passed()
    assert probe.begun == 1
    assert not test.wait(LONG, again=True).passed
    assert probe.begun == 2


def test_a_test_that_passed_is_not_undone_by_a_lost_one() -> None:
    lost, good = Probe(broken("late")), done(PASSED)
    probes: Iterator[Callable[[], SandboxReport]] = chain([lost], repeat(good))
    test = SelfTest(probe=lambda: next(probes)(), deadline_seconds=0.0)
    first = test.begin_if_due()
    wait_until(lambda: lost.begun)
    assert test.wait(LONG).passed
    lost.let_go.set()
    assert first.wait(LONG)
    assert test.passed()


@pytest.fixture
def slots_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A scratch folder that nobody else uses, and that the users of slots can pass through."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield


def test_a_machine_too_busy_for_the_test_offers_the_sandbox_once_it_is_less_busy(
    sandbox: None,
    fresh_self_test: PerProcess[SelfTest],
    slots_of_its_own: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For real: every slot of the machine is taken while the worker starts."""
    monkeypatch.setattr(limits, "SANDBOX_SLOTS", 1)
    monkeypatch.setattr(limits, "SANDBOX_SLOT_WAIT_SECONDS", 0.1)
    fresh_self_test().retry_seconds = 0.0
    with claim_slot():
        assert "Too much code" in self_test().reason
        assert not available()
        with pytest.raises(SandboxUnavailable, match="Too much code"):
            run_in_workdir(SandboxRequest(command="true"))
        wait_until(fresh_self_test().ended.is_set)
    wait_until_tested(limits.SANDBOX_TEST_SECONDS)
    assert self_test().passed, self_test().reason
    assert available()
