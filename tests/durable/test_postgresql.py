"""The heart of these tests once more, on a real PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import psycopg
import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]
FILES = ["test_concurrency.py", "test_job_machine.py"]


@pytest.mark.services
@pytest.mark.timeout(900)
@pytest.mark.skipif(connection.vendor == "postgresql", reason="this run is on PostgreSQL already")
def test_jobs_keep_every_promise_on_postgresql() -> None:
    server = os.environ.get("COPILOT_TEST_POSTGRES", "postgres:///postgres")
    try:
        psycopg.connect(server.replace("postgres://", "postgresql://", 1), connect_timeout=5).close()
    except psycopg.OperationalError:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip("needs PostgreSQL")
    name = f"ratchet_durable_{uuid.uuid4().hex[:8]}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not services"]
    ran = subprocess.run(
        [*command, *(str(ROOT / "tests" / "durable" / file) for file in FILES)],
        cwd=ROOT,
        env=os.environ
        | {"COPILOT_TEST_DATABASE_URL": server.rpartition("/")[0] + "/" + name, "COPILOT_TEST_EXAMPLES": "5"},
        capture_output=True,
        text=True,
        timeout=880,
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-2_000:]
    assert " passed" in ran.stdout
