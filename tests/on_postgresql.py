"""Running tests once more, on a real PostgreSQL and a database of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import psycopg
import pytest

from tests.rig import ROOT

SECONDS = 880


def run_on_postgresql(*words: str, **environment: str) -> None:
    """Let pytest run with these words there; skips where there is no server, but not in CI."""
    server = os.environ.get("COPILOT_TEST_POSTGRES", "postgres:///postgres")
    try:
        psycopg.connect(server.replace("postgres://", "postgresql://", 1), connect_timeout=5).close()
    except psycopg.OperationalError:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("needs PostgreSQL")
    url = server.rpartition("/")[0] + f"/ratchet_{uuid.uuid4().hex[:8]}"
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
