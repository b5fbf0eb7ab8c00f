"""Operations run in this process: real rows, real Redis; only the worker's shell is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from chat.models import Session
from durable.runtime import runtime
from tests.tools.conftest import Bench, call
from tools.models import Operation
from tools.operations import runner


@pytest.fixture
def session(user: User, redis_server: object) -> Session:
    return Session.objects.create(user=user)


@pytest.fixture
def bench(user: User, session: Session) -> Bench:
    return Bench(user=user, session_id=session.pk)


@pytest.fixture
def started(bench: Bench) -> Callable[..., Operation]:
    """Ask for a long-running tool as the model does; answers its operation."""

    def starting(name: str = "test_operation", /, id: str = "c1", **arguments: Any) -> Operation:
        [finished] = bench.run(call(name, id=id, **arguments))
        return Operation.objects.get(pk=finished.output["operation_id"])

    return starting


def run(operation: Operation) -> Operation:
    """As a worker that was poked."""
    runtime().run(Operation, operation.pk, runner.run)
    operation.refresh_from_db()
    return operation
