"""Untrusted code in a bubblewrap sandbox: no network, no host files, bounded memory, disk, processes and time."""

from boundary.sandbox.boxes import collect, fill, open_box
from boundary.sandbox.probes import SandboxCheck, SandboxReport
from boundary.sandbox.readiness import self_test
from boundary.sandbox.running import (
    available,
    mode,
    run_in_box,
    run_sandboxed,
    unavailable_reason,
    wait_until_tested,
)
from boundary.sandbox.types import CollectedFile, KilledReason, SandboxLimits, SandboxRequest, SandboxResult

__all__ = [
    "CollectedFile",
    "KilledReason",
    "SandboxCheck",
    "SandboxLimits",
    "SandboxReport",
    "SandboxRequest",
    "SandboxResult",
    "available",
    "collect",
    "fill",
    "mode",
    "open_box",
    "run_in_box",
    "run_sandboxed",
    "self_test",
    "unavailable_reason",
    "wait_until_tested",
]
