"""A turn's journal without a turn: it writes to the real database and remembers what it was told."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from django.db import transaction

from accounts.models import User
from durable.errors import LeaseLost
from durable.ids import new_id
from durable.stop_signal import StopSignal
from llm.types import ToolCallRequest
from tools.base import Effect, ToolArgs, ToolResult
from tools.context import ToolContext, WatchedExecution
from tools.dispatch import CallScope, FinishedCall, run_calls
from tools.models import ToolCall, call_key
from tools.permissions import Permissions

T = TypeVar("T")


@dataclass
class RecordingJournal:
    """Commits for real; `lost` makes it refuse like a turn that another worker took over."""

    lost: bool = False
    finished: list[FinishedCall] = field(default_factory=list)
    shown: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    waits: list[uuid.UUID | None] = field(default_factory=list)
    watches: list[WatchedExecution] = field(default_factory=list)
    commits: int = 0

    def commit(self, work: Callable[[], T], *, finished: FinishedCall | None = None) -> T:
        if self.lost:
            raise LeaseLost
        self.commits += 1
        with transaction.atomic():
            value = work()
        if finished is not None:
            self.finished.append(finished)
        return value

    def progress(self, call_id: str, name: str, output: dict[str, Any]) -> None:
        if self.lost:
            raise LeaseLost
        self.shown.append((call_id, name, output))

    def watched(self, execution: WatchedExecution) -> None:
        self.watches.append(execution)

    @contextmanager
    def waiting(self, key: str, job_id: uuid.UUID | None) -> Iterator[None]:
        if self.lost:
            raise LeaseLost
        self.waits.append(job_id)
        yield


@dataclass
class Bench:
    """One step of one turn, to run calls in."""

    user: User | None
    journal: RecordingJournal = field(default_factory=RecordingJournal)
    session_id: uuid.UUID = field(default_factory=new_id)
    turn_id: uuid.UUID = field(default_factory=new_id)
    step: int = 0
    attempt: int = 1
    permissions: Permissions = field(default_factory=Permissions)
    stop: StopSignal = field(default_factory=StopSignal)
    outside_sources: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def scope(self) -> CallScope:
        return CallScope(
            user_id=self.user.pk if self.user else None,
            session_id=self.session_id,
            turn_id=self.turn_id,
            step=self.step,
            attempt=self.attempt,
            permissions=self.permissions,
            cancelled=self.stop,
            outside_sources=self.outside_sources,
            said=lambda: self.said,
        )

    def run(self, *calls: ToolCallRequest) -> list[FinishedCall]:
        return run_calls(calls, self.scope(), self.journal)

    def run_one(self, name: str, /, **arguments: Any) -> FinishedCall:
        return self.run(call(name, **arguments))[0]

    def key(self, call_id: str) -> str:
        return call_key(self.turn_id, self.step, call_id)

    def row(self, call_id: str) -> ToolCall:
        return ToolCall.objects.get(key=self.key(call_id))

    def leave_in_doubt(self, request: ToolCallRequest, effect: Effect, **fields: Any) -> ToolCall:
        """The row a killed worker left: started, and nothing more."""
        return ToolCall.objects.create(
            key=self.key(request.id),
            turn_id=self.turn_id,
            session_id=self.session_id,
            user=self.user,
            step=self.step,
            index=0,
            call_id=request.id,
            name=request.name,
            arguments=json.loads(request.arguments),
            effect=effect,
            state=ToolCall.State.STARTED,
            attempt=self.attempt,
            **fields,
        )

    def context(self, call_id: str = "c1") -> ToolContext:
        """A context for calling a tool's function directly."""
        return ToolContext(
            user_id=self.user.pk if self.user else None,
            session_id=self.session_id,
            turn_id=self.turn_id,
            step=self.step,
            call_id=call_id,
            key=self.key(call_id),
            permissions=self.permissions,
            cancelled=self.stop,
            deadline=time.monotonic() + 60,
            channel=Silence(),
        )


class Silence:
    """A channel nobody listens to."""

    def preliminary(self, output: dict[str, Any]) -> None:
        return None

    def watched(self, execution: WatchedExecution) -> None:
        return None

    def waiting(self, job_id: uuid.UUID | None) -> AbstractContextManager[None]:
        return nullcontext()

    def with_result(self, work: Callable[[], object]) -> None:
        work()

    def read_outside(self, sources: Iterable[str]) -> None:
        return None


class NoArgs(ToolArgs):
    """No arguments."""


class Done(ToolResult):
    type: str = "done"
    message: str = "Done."


def call(name: str, /, id: str = "c1", **arguments: Any) -> ToolCallRequest:
    return ToolCallRequest(id=id, name=name, arguments=json.dumps(arguments))


def eventually(condition: Callable[[], Any], seconds: float = 120) -> None:
    """Wait until it holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "It did not happen in time."
        time.sleep(0.01)


@pytest.fixture
def user(transactional_db: None) -> User:
    return User.objects.create(username="lovelace")


@pytest.fixture
def bench(user: User) -> Bench:
    return Bench(user=user)


@pytest.fixture
def in_background() -> Iterator[Callable[[Callable[[], Any]], threading.Thread]]:
    """Run something beside the test; its thread is joined at the end."""
    threads: list[threading.Thread] = []
    failures: list[BaseException] = []

    def start(work: Callable[[], Any]) -> threading.Thread:
        from django.db import connections

        def body() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - handed to the test
                failures.append(error)
            finally:
                connections.close_all()

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        threads.append(thread)
        return thread

    yield start
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert failures == []
