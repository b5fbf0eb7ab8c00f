"""Whether the sandbox has proved itself in this process: the self-test, run beside the work and never in its way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from boundary.sandbox.probes import SandboxReport, broken, run_probes
from durable import limits
from durable.process import PerProcess

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class SelfTest:
    """Runs the probes in a thread of its own; keeps a report that passed, and tries again after one that did not."""

    probe: Callable[[], SandboxReport] = run_probes
    retry_seconds: float = limits.SANDBOX_RETRY_SECONDS
    deadline_seconds: float = limits.SANDBOX_TEST_SECONDS
    report: SandboxReport | None = None  # of the last test that ended
    ended: threading.Event = field(default_factory=threading.Event)  # set when the last test begun has ended
    next_test_at: float = 0.0  # by the monotonic clock; while a test runs, when it counts as lost
    lock: threading.Lock = field(
        default_factory=threading.Lock
    )  # held for assignments only, never for a test

    def passed(self) -> bool:
        """Whether a finished test passed. Returns at once; begins a test when one is due."""
        if self.report is not None and self.report.passed:
            return True
        self.begin_if_due()
        return False

    def wait(self, seconds: float, *, again: bool = False) -> SandboxReport:
        """The report, of a test under way if need be; one of failure when that takes too long.

        With `again`, a test that failed does not count, however recent it is.
        """
        if not self.passed():
            ended = self.begin_if_due(at_once=again)
            if not ended.wait(seconds):
                return broken(f"The self-test has not ended after {seconds:g} seconds.")
        return self.report or broken("The self-test has not begun.")

    def begin_if_due(self, *, at_once: bool = False) -> threading.Event:
        """Begin a test unless one is under way or the last failed just now; the event that its end sets."""
        with self.lock:
            now = time.monotonic()
            if now >= self.next_test_at or (at_once and self.ended.is_set()):
                self.ended = threading.Event()
                self.next_test_at = now + self.deadline_seconds
                threading.Thread(
                    target=self.run, args=(self.ended,), name="sandbox-self-test", daemon=True
                ).start()
            return self.ended

    def run(self, ended: threading.Event) -> None:
        """One test, to its report. A test that counted as lost may still report."""
        try:
            report = self.probe()
        except Exception as error:  # a thread's last frame: whatever broke, the next test may go better
            log.exception("the sandbox's self-test broke")
            report = broken(f"{type(error).__name__}: {error}")
        with self.lock:
            if self.report is None or not self.report.passed:
                self.report = report
                self.next_test_at = time.monotonic() + self.retry_seconds
        if not report.passed:
            log.warning("the sandbox's self-test failed", reason=report.reason)
        ended.set()


current_self_test = PerProcess(SelfTest)


def self_test() -> SandboxReport:
    """The report of this process's self-test, waited for with a deadline; one that failed is run again."""
    return current_self_test().wait(limits.SANDBOX_TEST_SECONDS, again=True)
