"""Running tests once more, on a real PostgreSQL and a database of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

from tests.harness import ROOT
from tests.needs import POSTGRES_URL, POSTGRESQL, require

SECONDS = 880


def run_on_postgresql(*words: str, **environment: str) -> None:
    """Let pytest run with these words there."""
    require(POSTGRESQL)
    url = f"{POSTGRES_URL}/ratchet_{uuid.uuid4().hex[:8]}"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not services", *words],
        cwd=ROOT,
        env=os.environ | {"COPILOT_TEST_DATABASE_URL": url} | environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-2_000:]
    assert " passed" in ran.stdout
