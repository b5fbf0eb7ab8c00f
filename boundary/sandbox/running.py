"""Running untrusted code: only where the operator wants it and the self-test holds, never anywhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import structlog
from django.conf import settings

from boundary.errors import SandboxError, SandboxUnavailable
from boundary.sandbox.boxes import collect, fill, open_box
from boundary.sandbox.launching import launch
from boundary.sandbox.readiness import current_self_test, self_test
from boundary.sandbox.types import SandboxLimits, SandboxRequest, SandboxResult
from durable import limits as caps

log = structlog.get_logger(__name__)

AUTO, REQUIRED, OFF = "auto", "bwrap", "off"
SWITCHED_OFF = "The sandbox is switched off (SANDBOX=off)."


def mode() -> str:
    """The operator's word: `auto`, `bwrap` or `off`. An unknown one is `off`."""
    word = str(getattr(settings, "SANDBOX", AUTO)).lower()
    return word if word in (AUTO, REQUIRED) else OFF


def available() -> bool:
    """Whether code may be run here: not switched off, and a finished self-test passed. Returns at once."""
    return mode() != OFF and current_self_test().passed()


def unavailable_reason() -> str:
    """Why code may not be run here; empty when it may. Waits for the self-test, which `available` does not."""
    return SWITCHED_OFF if mode() == OFF else self_test().reason


def wait_until_tested(seconds: float) -> None:
    """Wait for the end of a self-test, so that what comes next need not do without the sandbox."""
    if mode() != OFF:
        current_self_test().wait(seconds)


def check_available() -> None:
    """Raise SandboxUnavailable unless the self-test passes; one that is under way is waited for."""
    if mode() == OFF:
        raise SandboxUnavailable(f"Code cannot be run here. {SWITCHED_OFF}")
    report = current_self_test().wait(caps.SANDBOX_TEST_SECONDS)
    if not report.passed:
        raise SandboxUnavailable(f"Code cannot be run here. {report.reason}")


def run_in_box(request: SandboxRequest, cancelled: Callable[[], bool] = lambda: False) -> SandboxResult:
    """Run a command in a box of its own, with the request's files in it; the result holds the files it left."""
    with open_box() as box:
        fill(box, request.files)
        result = run_sandboxed(
            request.command,
            workdir=box,
            timeout=request.timeout,
            stdin=request.stdin,
            owner=request.owner,
            limits=request.limits,
            cancelled=cancelled,
        )
        found = collect(box, request.files)
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
    """Run a command in a box from `open_box`. A string is a bash script. Raises a SandboxError; nothing is run then."""
    check_available()
    if not command:
        raise SandboxError("There is no command.")
    if len(stdin) > caps.SANDBOX_STDIN_BYTES:
        raise SandboxError(f"The input is larger than {caps.SANDBOX_STDIN_BYTES} bytes.")
    result = launch(
        command,
        box=workdir,
        timeout=min(max(timeout, 0.0), caps.MAX_SANDBOX_SECONDS),
        stdin=stdin,
        owner=owner,
        limits=limits or SandboxLimits(),
        cancelled=cancelled,
    )
    log.info("sandboxed command", exit_code=result.exit_code, killed=result.killed_reason)
    return result
