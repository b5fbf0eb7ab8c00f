"""What happens at the same moment, once more on a real PostgreSQL."""

from __future__ import annotations

import pytest
from django.db import connection

from tests.on_postgresql import run_on_postgresql

PLACES = [f"tests/executions/{name}" for name in ("api/test_hooks.py", "credentials", "reviews", "schedules")]


@pytest.mark.services
@pytest.mark.timeout(900)
@pytest.mark.skipif(connection.vendor == "postgresql", reason="this run is on PostgreSQL already")
def test_executions_wait_and_are_admitted_alike_on_postgresql() -> None:
    engine = "tests/executions/engine"
    run_on_postgresql(
        f"{engine}/test_waits.py", f"{engine}/test_moves.py", "tests/executions/test_admission.py"
    )


@pytest.mark.services
@pytest.mark.timeout(900)
@pytest.mark.skipif(connection.vendor == "postgresql", reason="this run is on PostgreSQL already")
def test_of_many_at_once_one_counts_on_postgresql() -> None:
    run_on_postgresql(*PLACES, "-k", "at_once")
