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
from boundary.sandbox.probes import self_test
from boundary.sandbox.types import SandboxLimits, SandboxRequest, SandboxResult
from durable import limits as caps

log = structlog.get_logger(__name__)

AUTO, REQUIRED, OFF = "auto", "bwrap", "off"


def mode() -> str:
    """The operator's word: `auto`, `bwrap` or `off`. An unknown one is `off`."""
    word = str(getattr(settings, "SANDBOX", AUTO)).lower()
    return word if word in (AUTO, REQUIRED) else OFF


def available() -> bool:
    """Whether code may be run here: not switched off, and the self-test holds."""
    return mode() != OFF and self_test().passed


def unavailable_reason() -> str:
    """Why code may not be run here; empty when it may."""
    if mode() == OFF:
        return "The sandbox is switched off (SANDBOX=off)."
    return self_test().reason


def run_in_box(request: SandboxRequest, cancelled: Callable[[], bool] = lambda: False) -> SandboxResult:
    """Run a command in a box of its own, with the request's files in it; the result holds the files it left."""
    with open_box() as box:
        fill(box, request.files)
        result = run_sandboxed(
            request.command,
            workdir=box,
            timeout=request.timeout,
            stdin=request.stdin,
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
    limits: SandboxLimits | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> SandboxResult:
    """Run a command in a box from `open_box`. A string is a bash script. Raises a SandboxError; nothing is run then."""
    if not available():
        raise SandboxUnavailable(f"Code cannot be run here. {unavailable_reason()}")
    if not command:
        raise SandboxError("There is no command.")
    if len(stdin) > caps.SANDBOX_STDIN_BYTES:
        raise SandboxError(f"The input is larger than {caps.SANDBOX_STDIN_BYTES} bytes.")
    result = launch(
        command,
        box=workdir,
        timeout=min(max(timeout, 0.0), caps.MAX_SANDBOX_SECONDS),
        stdin=stdin,
        limits=limits or SandboxLimits(),
        cancelled=cancelled,
    )
    log.info("sandboxed command", exit_code=result.exit_code, killed=result.killed_reason)
    return result
