"""The local sandbox, as a port."""

from __future__ import annotations

from boundary.sandbox import SandboxRequest, SandboxResult, run_in_box
from llm.types import CancelSignal


class LocalSandbox:
    """Each command in a box of its own, thrown away afterwards."""

    def run(self, request: SandboxRequest, cancel: CancelSignal) -> SandboxResult:
        return run_in_box(request, cancel.is_set)
