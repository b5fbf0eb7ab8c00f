"""What tests of the HTTP API share with those of the packages behind it."""

from __future__ import annotations

from tests.executions.credentials.conftest import provider, provider_process
from tests.executions.people import ada, as_ada, bob, operator
from tests.executions.reviews.conftest import execution, heard
from tests.executions.schedules.conftest import agent
from tests.executions.triggers.conftest import called, greeter

__all__ = [
    "ada",
    "agent",
    "as_ada",
    "bob",
    "called",
    "execution",
    "greeter",
    "heard",
    "operator",
    "provider",
    "provider_process",
]
