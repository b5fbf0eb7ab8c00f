"""Run one of our own scripts in a separate process with hard limits on memory, CPU time and disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from blocks.schema import JSON, Object
from durable.database import outside_wait

GRACE_SECONDS = 5.0  # a busy machine starts processes late; the CPU limit is the real one
# The child sets its limits before it reads the job.
LIMITED = """
import resource, runpy, sys
memory, seconds, size = (int(number) for number in sys.argv[1:4])
for name, limit in (("AS", memory), ("CPU", seconds), ("FSIZE", size), ("NPROC", 0), ("CORE", 0)):
    kind = getattr(resource, "RLIMIT_" + name)
    hard = resource.getrlimit(kind)[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (limit, limit))
runpy.run_path(sys.argv[4], run_name="__main__")
"""


class ScriptStopped(Exception):
    """The script exceeded a limit on time or memory."""

    def __init__(self, message: str = "it takes too much time or memory") -> None:
        super().__init__(message)


@outside_wait()
def run_script(script: Path, job: JSON, *, seconds: float, memory_bytes: int, file_bytes: int) -> Object:
    """Pass the script a job as JSON and return its answer; raise ScriptStopped if it was stopped."""
    numbers = [str(memory_bytes), str(max(int(seconds), 1)), str(file_bytes)]
    try:
        child = subprocess.run(  # noqa: S603 - our own interpreter and script
            [sys.executable, "-I", "-c", LIMITED, *numbers, str(script)],
            input=json.dumps(job).encode(),
            capture_output=True,
            timeout=seconds + GRACE_SECONDS,
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ScriptStopped("it takes too long") from None
    try:
        answer = json.loads(child.stdout)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ScriptStopped from None
    if not isinstance(answer, dict):
        raise ScriptStopped
    return answer
