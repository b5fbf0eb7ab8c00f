"""Agents of a person, and tools called as dispatch calls them, but in the test's own transaction."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from accounts.models import User
from blocks.registry import get_registry
from durable.ids import new_id
from durable.stop_signal import StopSignal
from executions.agents.agent_import import import_agent
from executions.generator.example import example_graph
from executions.graph import graph_to_json
from executions.models import Agent
from tools import registry
from tools.arguments import validate
from tools.context import WatchedExecution
from tools.errors import ToolOutcome
from tools.operations.context import OperationContext
from tools.permissions import Permissions


class Channel:
    """Remembers what was told and whether it was waited."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.waits = 0
        self.sources: tuple[str, ...] = ()
        self.watches: list[WatchedExecution] = []

    def preliminary(self, output: dict[str, Any]) -> None:
        self.shown.append(output)

    def with_result(self, work: Callable[[], object]) -> None:
        work()

    def read_outside(self, sources: Iterable[str]) -> None:
        self.sources = (*self.sources, *sources)

    def watched(self, execution: WatchedExecution) -> None:
        self.watches.append(execution)

    @contextmanager
    def waiting(self, job_id: uuid.UUID | None) -> Iterator[None]:
        self.waits += 1
        yield


class Caller:
    """Calls tools for one person in one conversation, without gates and threads."""

    def __init__(self, user: User | None, permissions: Permissions | None = None) -> None:
        self.user = user
        self.session_id = new_id()
        self.turn_id = new_id()
        self.permissions = permissions or Permissions()
        self.stop = StopSignal()
        self.channel = Channel()
        self._keys = itertools.count()

    def context(self, key: str = "") -> OperationContext:
        operation = new_id()
        return OperationContext(
            user_id=self.user.pk if self.user else None,
            session_id=self.session_id,
            turn_id=self.turn_id,
            step=0,
            call_id="c1",
            key=key or f"{self.turn_id}:0:{next(self._keys)}",
            permissions=self.permissions,
            cancelled=self.stop,
            deadline=time.monotonic() + 60,
            channel=self.channel,
            operation_id=operation,
            task_id=operation,
        )

    def call(self, name: str, /, *, key: str = "", **arguments: Any) -> dict[str, Any]:
        """What the model would hear: the result, or the refusal."""
        tool = registry.current().get(name)
        assert tool is not None, name
        try:
            return tool.run(validate(tool, arguments), self.context(key)).model_dump()
        except ToolOutcome as error:
            return error.reply()


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create(username="ada", time_zone="Europe/Paris")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create(username="bob")


@pytest.fixture
def caller(ada: User) -> Caller:
    return Caller(ada)


@pytest.fixture
def greeter(ada: User) -> Agent:
    return save_greeter(ada)


def save_greeter(user: User, **changes: Any) -> Agent:
    """The guide's own example; it greets the world unless it is told whom."""
    return import_agent(user, graph_to_json(example_graph(get_registry())) | changes).agent
