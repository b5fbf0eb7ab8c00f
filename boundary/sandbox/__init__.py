"""Run untrusted code with bubblewrap: no network, no host files, limited memory, disk, processes and time."""

from boundary.sandbox.readiness import SandboxCheck, SandboxReport, self_test
from boundary.sandbox.run import (
    available,
    mode,
    run_in_workdir,
    run_sandboxed,
    unavailable_reason,
    wait_until_tested,
)
from boundary.sandbox.types import CollectedFile, KilledReason, SandboxLimits, SandboxRequest, SandboxResult
from boundary.sandbox.workdirs import collect, fill, open_workdir

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
    "open_workdir",
    "run_in_workdir",
    "run_sandboxed",
    "self_test",
    "unavailable_reason",
    "wait_until_tested",
]
