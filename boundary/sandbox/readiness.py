"""The self-test of the sandbox: its probes (cases 51-57 of SECURITY.md), run in a background thread of each process."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import structlog

from boundary import limits
from boundary.errors import SandboxError
from boundary.sandbox.command import PRODUCT
from boundary.sandbox.process import launch
from boundary.sandbox.types import KilledReason, SandboxLimits, SandboxResult
from boundary.sandbox.workdirs import open_workdir
from durable.per_process import PerProcess

log = structlog.get_logger(__name__)
MACHINES = frozenset({"x86_64", "aarch64"})
SECONDS = 10.0
SMALL = SandboxLimits(
    memory_bytes=256 * 1024 * 1024, cpu_seconds=5, processes=16, file_bytes=1024 * 1024, tmp_bytes=1024 * 1024
)
NARROW = replace(SMALL, memory_bytes=64 * 1024 * 1024)


@dataclass(frozen=True, kw_only=True)
class SandboxCheck:
    """The result of one probe."""

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class SandboxReport:
    """The results of all probes."""

    checks: tuple[SandboxCheck, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def reason(self) -> str:
        """Return why the self-test failed, or ""."""
        return " ".join(f"{check.name}: {check.detail}" for check in self.checks if not check.passed)


def run_probes() -> SandboxReport:
    """Run every probe and return the report."""
    if platform.system() != "Linux" or platform.machine() not in MACHINES:
        return broken(f"The sandbox does not support {platform.system()} on {platform.machine()}.")
    try:
        return SandboxReport(checks=tuple(probe() for probe in PROBES))
    except SandboxError as error:
        return broken(str(error))


def broken(detail: str) -> SandboxReport:
    return SandboxReport(checks=(SandboxCheck(name="start", passed=False, detail=detail),))


def attempt(script: str, *, timeout: float = SECONDS, limits: SandboxLimits = SMALL) -> SandboxResult:
    with open_workdir() as workdir:
        return launch(script, workdir=workdir, timeout=timeout, limits=limits)


def check(name: str, passed: bool, result: SandboxResult) -> SandboxCheck:
    output = f"{result.stdout} {result.stderr}".strip()[:300]
    detail = (
        ""
        if passed
        else f"exit code {result.exit_code}, {result.killed_reason or 'not killed'}, output {output!r}"
    )
    return SandboxCheck(name=name, passed=passed, detail=detail)


def probe_secrets() -> SandboxCheck:
    """51: neither host files nor host processes are visible."""
    paths = ("/etc/passwd", "/etc/shadow", "/root", "/home", "/var", "/run", PRODUCT / "boundary")
    script = "".join(f"[ -e '{path}' ] && echo '{path}'; " for path in paths)
    result = attempt(script + "env -0 | cut -z -d= -f1; tr '\\0' '\\n' < /proc/1/environ; echo end")
    seen = set(result.stdout.replace("\0", "\n").split())
    return check(
        "files", result.exit_code == 0 and seen <= {"end", "PATH", "HOME", "PWD", "SHLVL", "_"}, result
    )


def probe_network() -> SandboxCheck:
    """52: no address can be reached, not even on the host."""
    targets = ("127.0.0.1/6379", "169.254.169.254/80", "1.1.1.1/443")
    tries = "; ".join(f"(exec 3<>/dev/tcp/{target}) 2>/dev/null && echo reached" for target in targets)
    result = attempt(
        f"{tries}; ls /sys/class/net 2>/dev/null; grep -v 'lo:\\|Inter\\|face' /proc/net/dev; echo end"
    )
    return check("network", result.stdout.split() == ["end"], result)


def probe_processes() -> SandboxCheck:
    """53: a fork bomb is stopped by the process limit."""
    # bash retries fork for seconds, so a loop beside it waits for its first error message.
    watcher = "(while [[ ! -s /tmp/e ]]; do :; done; echo capped; kill -9 $$) &"
    result = attempt(f"exec 2>/tmp/e; {watcher} for i in $(seq 40); do sleep 9 & done; echo all")
    return check("processes", result.stdout.split() == ["capped"], result)


def probe_memory() -> SandboxCheck:
    """54: neither one process nor all together can exceed the memory limit."""
    one = attempt("head -c 256M /dev/zero | tail | wc -c", limits=NARROW)
    if one.stdout.strip() == str(256 * 1024**2):
        return check("memory", False, one)
    many = attempt("for i in 1 2 3 4; do (head -c 24M /dev/zero; sleep 9) | tail & done; wait", limits=NARROW)
    return check("memory", many.killed_reason == KilledReason.MEMORY, many)


def probe_time() -> SandboxCheck:
    """55: a command that runs too long is killed with all its processes."""
    result = attempt("sleep 9 & sleep 9", timeout=0.1)
    return check("time", result.timed_out, result)


def probe_disk() -> SandboxCheck:
    """56: neither files nor /tmp exceed their limits, and nothing else is writable."""
    result = attempt(
        "head -c 4M /dev/zero > big 2>/dev/null; head -c 4M /dev/zero > /tmp/big 2>/dev/null; "
        "for d in / /dev /usr /etc /proc; do touch $d/x 2>/dev/null && echo $d; done; stat -c %s big /tmp/big"
    )
    sizes = result.stdout.split()
    passed = all(size.isdigit() and int(size) <= SMALL.file_bytes for size in sizes) and len(sizes) == 2
    return check("disk", passed, result)


def probe_kernel() -> SandboxCheck:
    """57: no new namespaces, mounts or tracing; the seccomp filter is loaded and all capabilities are dropped."""
    result = attempt(
        "unshare -Ur true 2>/dev/null && echo unshare; mount -t tmpfs x /tmp 2>/dev/null && echo mount; "
        "grep -E '^(Seccomp|NoNewPrivs|CapEff|CapBnd):' /proc/self/status | tr -d '\\t\\n '; "
        f"if command -v python3 >/dev/null; then python3 -c '{SYSCALLS}'; else echo refused; fi"
    )
    wanted = "CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1Seccomp:2refused"
    return check("kernel", result.stdout.split() == [wanted], result)


# By number, if Python is available to call them: ptrace, keyctl, bpf, io_uring_setup, unshare, semget, mq_open; and a
# vsock socket.
NUMBERS = {"x86_64": (101, 250, 321, 425, 272, 64, 240), "aarch64": (117, 219, 280, 425, 97, 190, 180)}
SYSCALLS = (
    "import ctypes,errno,socket;c=ctypes.CDLL(None,use_errno=True);"
    f"bad=[n for n in {NUMBERS.get(platform.machine(), ())} "
    "if c.syscall(n,0,0,0,0,0)!=-1 or ctypes.get_errno()!=errno.EPERM];"
    'bad+=[40] if c.socket(40,1,0)>=0 else [];print(bad or "refused")'
)
PROBES: tuple[Callable[[], SandboxCheck], ...] = (
    probe_secrets,
    probe_network,
    probe_processes,
    probe_memory,
    probe_time,
    probe_disk,
    probe_kernel,
)


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
