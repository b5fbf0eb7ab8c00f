"""A transaction that PostgreSQL breaks because another one waits for it is run again."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest
from django.db import OperationalError, connection, transaction

from executions.agents.library import remove_agent
from executions.models import Agent, Schedule
from tests.executions.schedules.conftest import make

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
WAIT = 120


def has_waiter() -> bool:
    """Whether another transaction waits for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return cursor.fetchone() is not None


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks the whole file, not rows")
def test_an_agent_is_removed_although_somebody_locks_its_schedule_first_and_then_the_agent(
    agent: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    """The removal locks the agent, then its schedules; it waits first, so that it is the one PostgreSQL breaks.

    Started again, it may lock the agent before the other one does: that one may be broken then.
    """
    schedule = make(agent)
    holding = threading.Event()

    def lock_in_the_other_order() -> None:
        try:
            with suppress(OperationalError), transaction.atomic():
                Schedule.objects.select_for_update().get(pk=schedule.pk)
                holding.set()
                deadline = time.monotonic() + WAIT
                while not has_waiter() and time.monotonic() < deadline:
                    time.sleep(0.02)
                Agent.objects.select_for_update().get(pk=agent.pk)
        finally:
            connection.close()

    other = threading.Thread(target=lock_in_the_other_order)
    other.start()
    assert holding.wait(WAIT)
    with caplog.at_level("INFO", logger="durable.database"):
        remove_agent(agent)
    other.join(WAIT)
    agent.refresh_from_db()
    schedule.refresh_from_db()
    assert (agent.deleted_at is not None, schedule.enabled) == (True, False)
    assert "remove_agent lost a conflict" in caplog.text
