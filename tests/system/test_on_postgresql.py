"""What depends on how a database locks, once more on a real PostgreSQL: one run of pytest, on one database."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import pytest

from tests.harness import ROOT
from tests.needs import POSTGRES_URL, POSTGRESQL, require

AGAIN = (
    "tests/chat/api/test_models.py",
    "tests/chat/test_at_once.py",
    "tests/durable/test_concurrency.py",
    "tests/durable/test_database_connections.py",
    "tests/durable/test_job_machine.py",
    "tests/executions/api/test_hooks.py::test_of_the_same_call_many_times_at_once_one_starts",
    "tests/executions/credentials/oauth/test_refresh.py::test_of_many_at_once_one_goes_to_the_provider",
    "tests/executions/engine/test_moves.py",
    "tests/executions/engine/test_poison.py",
    "tests/executions/engine/test_waits.py",
    "tests/executions/reviews/test_race.py",
    "tests/executions/schedules/test_deadlock_at_once.py",
    "tests/executions/schedules/test_run_due.py::test_of_many_ticks_at_once_one_starts_it",
    "tests/executions/schedules/test_run_due.py::test_run_now_runs_at_once_due_or_not_on_or_off",
    "tests/executions/schedules/test_run_due.py::test_what_would_fail_at_every_run_is_refused_at_once",
    "tests/executions/test_admission.py",
    "tests/llm/test_endpoint_rows.py",
    "tests/scale/test_plans.py",
)
pytestmark = [pytest.mark.services, pytest.mark.timeout(0)]  # each test of the inner run has its own limit


def test_what_happens_at_the_same_moment_comes_to_the_same_on_postgresql() -> None:
    require(POSTGRESQL)
    url = f"{POSTGRES_URL}/ratchet_{uuid.uuid4().hex[:8]}"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not services", *AGAIN],
        cwd=ROOT,
        env=os.environ | {"COPILOT_TEST_DATABASE_URL": url, "COPILOT_TEST_EXAMPLES": "5"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-8_000:] + ran.stderr[-2_000:]
    assert " passed" in ran.stdout
