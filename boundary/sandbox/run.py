"""Run untrusted code, only if the operator allows it and the self-test passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import structlog
from django.conf import settings

from boundary import limits as caps
from boundary.errors import SandboxError, SandboxUnavailable
from boundary.sandbox.process import launch
from boundary.sandbox.readiness import current_self_test, self_test
from boundary.sandbox.types import SandboxLimits, SandboxRequest, SandboxResult
from boundary.sandbox.workdirs import collect, fill, open_workdir

log = structlog.get_logger(__name__)

AUTO, REQUIRED, OFF = "auto", "bwrap", "off"
SWITCHED_OFF = "The sandbox is switched off (SANDBOX=off)."


def mode() -> str:
    """Return the operator's setting: `auto`, `bwrap` or `off`; unknown values mean `off`."""
    word = str(getattr(settings, "SANDBOX", AUTO)).lower()
    return word if word in (AUTO, REQUIRED) else OFF


def available() -> bool:
    """Return at once whether code may be run: not switched off, and a finished self-test passed."""
    return mode() != OFF and current_self_test().passed()


def unavailable_reason() -> str:
    """Return why code may not be run, or ""; unlike `available`, this waits for the self-test."""
    return SWITCHED_OFF if mode() == OFF else self_test().reason


def wait_until_tested(seconds: float) -> None:
    """Wait for the self-test, so that the sandbox is available afterwards if it can be."""
    if mode() != OFF:
        current_self_test().wait(seconds)


def check_available() -> None:
    """Raise SandboxUnavailable unless the self-test passed; wait for a running one."""
    if mode() == OFF:
        raise SandboxUnavailable(f"Code cannot be run here. {SWITCHED_OFF}")
    report = current_self_test().wait(caps.SANDBOX_TEST_SECONDS)
    if not report.passed:
        raise SandboxUnavailable(f"Code cannot be run here. {report.reason}")


def run_in_workdir(request: SandboxRequest, cancelled: Callable[[], bool] = lambda: False) -> SandboxResult:
    """Run a command in a new workdir with the request's files; the result includes new and changed files."""
    with open_workdir() as workdir:
        fill(workdir, request.files)
        result = run_sandboxed(
            request.command,
            workdir=workdir,
            timeout=request.timeout,
            stdin=request.stdin,
            owner=request.owner,
            limits=request.limits,
            cancelled=cancelled,
        )
        found = collect(workdir, request.files)
    return replace(result, files=tuple(found.files), files_left_out=tuple(found.left_out))


def run_sandboxed(
    command: str | list[str],
    *,
    workdir: Path,
    timeout: float = caps.SANDBOX_SECONDS,
    stdin: bytes = b"",
    owner: str = "",
    limits: SandboxLimits | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> SandboxResult:
    """Run a command in a workdir; a string is a bash script. Raises SandboxError if nothing was run."""
    check_available()
    if not command:
        raise SandboxError("The command is empty.")
    if len(stdin) > caps.SANDBOX_STDIN_BYTES:
        raise SandboxError(f"The input is larger than {caps.SANDBOX_STDIN_BYTES} bytes.")
    result = launch(
        command,
        workdir=workdir,
        timeout=min(max(timeout, 0.0), caps.MAX_SANDBOX_SECONDS),
        stdin=stdin,
        owner=owner,
        limits=limits or SandboxLimits(),
        cancelled=cancelled,
    )
    log.info("sandboxed command", exit_code=result.exit_code, killed=result.killed_reason)
    return result
