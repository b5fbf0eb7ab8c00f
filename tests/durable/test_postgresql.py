"""The heart of these tests once more, on a real PostgreSQL."""

from __future__ import annotations

import pytest
from django.db import connection

from tests.on_postgresql import run_on_postgresql


@pytest.mark.services
@pytest.mark.timeout(900)
@pytest.mark.skipif(connection.vendor == "postgresql", reason="this run is on PostgreSQL already")
def test_jobs_keep_every_promise_on_postgresql() -> None:
    files = ("tests/durable/test_concurrency.py", "tests/durable/test_job_machine.py")
    run_on_postgresql(*files, COPILOT_TEST_EXAMPLES="5")
