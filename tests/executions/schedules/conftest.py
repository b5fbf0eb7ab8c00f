"""A person with an agent that greets, and clocks that are put where a test wants them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from executions.models import Agent, Schedule
from executions.schedules.actions import NewSchedule, create
from tests.executions.people import ada, as_ada, bob, greeter_graph, import_valid, operator

__all__ = ["ada", "as_ada", "bob", "operator"]


@pytest.fixture
def agent(ada: User) -> Agent:
    return import_valid(ada, greeter_graph())


def make(agent: Agent, cron: str = "0 9 * * *", **more: Any) -> Schedule:
    return create(agent.user, NewSchedule(agent=agent, name="Daily", cron=cron, **more))


def let_due(schedule: Schedule, *, ago: timedelta = timedelta(minutes=1)) -> None:
    """As if its time had come so long ago."""
    Schedule.objects.filter(pk=schedule.pk).update(next_run_at=timezone.now() - ago)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
