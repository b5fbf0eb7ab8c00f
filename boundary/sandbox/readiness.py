"""Whether the sandbox passed its self-test in this process; the test runs in a background thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from boundary import limits
from boundary.sandbox.probes import SandboxReport, broken, run_probes
from durable.fork_safe import PerProcess

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class SelfTest:
    """Runs the probes in a thread; keeps a report that passed, and retries after one that failed."""

    probe: Callable[[], SandboxReport] = run_probes
    retry_seconds: float = limits.SANDBOX_RETRY_SECONDS
    deadline_seconds: float = limits.SANDBOX_TEST_SECONDS
    report: SandboxReport | None = None  # of the last finished test
    ended: threading.Event = field(default_factory=threading.Event)  # set when the current test has ended
    next_test_at: float = 0.0  # monotonic; while a test runs, the time when it counts as lost
    lock: threading.Lock = field(default_factory=threading.Lock)  # never held while a test runs

    def passed(self) -> bool:
        """Return at once whether a finished test passed; start a test if one is due."""
        if self.report is not None and self.report.passed:
            return True
        self.begin_if_due()
        return False

    def wait(self, seconds: float, *, again: bool = False) -> SandboxReport:
        """Return the report, waiting for a running test; a failed report if that takes too long.

        With `again`, repeat a failed test no matter how recent it is.
        """
        if not self.passed():
            ended = self.begin_if_due(at_once=again)
            if not ended.wait(seconds):
                return broken(f"The self-test did not finish within {seconds:g} seconds.")
        return self.report or broken("The self-test has not started.")

    def begin_if_due(self, *, at_once: bool = False) -> threading.Event:
        """Start a test unless one is running or just failed; return the event that marks its end."""
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
        """Run one test and store its report; a test that counted as lost may still report."""
        try:
            report = self.probe()
        except Exception as error:  # the thread's outermost frame: the next test may succeed
            log.exception("sandbox self-test crashed")
            report = broken(f"{type(error).__name__}: {error}")
        with self.lock:
            if self.report is None or not self.report.passed:
                self.report = report
                self.next_test_at = time.monotonic() + self.retry_seconds
        if not report.passed:
            log.warning("sandbox self-test failed", reason=report.reason)
        ended.set()


current_self_test = PerProcess(SelfTest)


def self_test() -> SandboxReport:
    """Return the report of this process's self-test; wait for it with a deadline and repeat a failed one."""
    return current_self_test().wait(limits.SANDBOX_TEST_SECONDS, again=True)
