"""One tool call at work on a thread of its own."""

from __future__ import annotations

import contextvars
import dataclasses
import logging
import queue
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connections

from boundary import taint
from durable import limits, tracing
from durable.connections import release
from durable.errors import DurableError
from durable.stop import StopReason, StopSignal
from tools import output
from tools.base import Effect, Reads, Tool, ToolArgs, ToolResult
from tools.context import ToolContext, WatchedExecution
from tools.errors import ApprovalNeeded, Cancelled, Interrupted, NoResults, ToolError, ToolOutcome
from tools.journal import CallScope, Journal
from tools.models import ToolCall

log = logging.getLogger(__name__)

UNREPEATABLE = frozenset({Effect.EFFECTFUL, Effect.FOREIGN})


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a call ended; `works` belong into the transaction of its result."""

    state: ToolCall.State
    output: dict[str, Any]
    works: tuple[Callable[[], object], ...] = ()
    sources: taint.Sources = ()  # of what it holds from outside

    @classmethod
    def of(cls, error: ToolOutcome, session_id: uuid.UUID) -> Outcome:
        return cls(state=state_of(error), output=output.reply(error, session_id))

    @property
    def error_text(self) -> str | None:
        return str(self.output.get("message", "")) if self.output.get("type") == "error" else None


def state_of(error: ToolOutcome) -> ToolCall.State:
    if isinstance(error, NoResults | ApprovalNeeded):
        return ToolCall.State.SUCCEEDED
    if isinstance(error, Cancelled):
        return ToolCall.State.CANCELLED
    if isinstance(error, Interrupted):
        return ToolCall.State.INTERRUPTED
    return ToolCall.State.FAILED


class Crashed(ToolError):
    """The tool failed for a reason that is ours, not yours. It is logged. Try another way, or tell the user."""

    code = "internal"


class Inbox:
    """What wakes the step: ends of calls and requests to stop, from any thread."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[RunningCall, Outcome] | None] = queue.SimpleQueue()

    def ended(self, call: RunningCall, outcome: Outcome) -> None:
        self._queue.put((call, outcome))

    def wake(self) -> None:
        self._queue.put(None)

    def next(self, timeout: float) -> tuple[RunningCall, Outcome] | None:
        """The next call that ended, or None when woken for another reason or when the time is over."""
        release()
        try:
            return self._queue.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None


@dataclass(kw_only=True, eq=False)
class RunningCall:
    """A call that may run: its context, its stop signal and its thread."""

    tool: Tool
    args: ToolArgs
    arguments: dict[str, Any]
    scope: CallScope
    call_id: str
    key: str
    index: int
    recorded: bool
    in_doubt: bool
    journal: Journal
    inbox: Inbox
    stop: StopSignal = field(default_factory=StopSignal)
    told_why: ToolOutcome | None = None
    give_up_at: float = 0.0
    cancel_requested: bool = False
    closed: bool = False
    works: list[Callable[[], object]] = field(default_factory=list)
    shown_at: float = 0.0
    sources: taint.Sources = ()

    def __post_init__(self) -> None:
        self.context = ToolContext(
            user_id=self.scope.user_id,
            session_id=self.scope.session_id,
            turn_id=self.scope.turn_id,
            step=self.scope.step,
            call_id=self.call_id,
            key=self.key,
            permissions=self.scope.permissions,
            cancelled=self.stop,
            deadline=time.monotonic() + self.tool.cap_seconds,
            channel=self,
            outside_sources=self.scope.outside_sources,
            said=self.scope.said,
        )

    def start(self) -> None:
        """Begin on a daemon thread: a tool that never comes back must not keep the process from ending."""
        self.context = dataclasses.replace(self.context, deadline=time.monotonic() + self.tool.cap_seconds)
        with _lock:
            _running[self.key] = self
        target = contextvars.copy_context().run
        try:
            threading.Thread(
                target=target, args=(self._work,), name=f"tool {self.tool.name}", daemon=True
            ).start()
        except RuntimeError:
            log.exception("No thread for a tool call", extra={"tool": self.tool.name, "call": self.key})
            self.inbox.ended(self, self._failed(ToolError("This machine is too busy now. Try again later.")))

    def tell_to_stop(self, why: ToolOutcome, reason: StopReason = StopReason.CANCELLED) -> None:
        """Ask the tool to stop; the first reason stands. It has a short grace, then it is left behind."""
        if self.told_why is not None:
            return
        if self.tool.effect in UNREPEATABLE:
            why.details["may_have_happened"] = True
        self.told_why = why
        self.give_up_at = time.monotonic() + limits.TOOL_CANCEL_GRACE_SECONDS
        self.stop.set(reason)

    def close(self) -> None:
        """Nothing this call still says counts from here on."""
        self.closed = True
        with _lock:
            _running.pop(self.key, None)

    def preliminary(self, shown: dict[str, Any]) -> None:
        now = time.monotonic()
        if self.closed or now - self.shown_at < limits.TOOL_PROGRESS_GAP_SECONDS:
            return
        self.shown_at = now
        try:
            self.journal.progress(self.call_id, self.tool.name, output.preview(shown, self.context))
        except DurableError:
            self.stop.set(StopReason.LOST)

    def watched(self, execution: WatchedExecution) -> None:
        if not self.closed:
            self.journal.watched(execution)

    def with_result(self, work: Callable[[], object]) -> None:
        self.works.append(work)

    def read_outside(self, sources: Iterable[str]) -> None:
        self.sources = taint.merge(self.sources, sources)

    @contextmanager
    def waiting(self, job_id: uuid.UUID | None) -> Iterator[None]:
        try:
            with self.journal.waiting(self.key, job_id):
                yield
        except DurableError:  # the turn is another worker's now, which makes the same call
            self.stop.set(StopReason.LOST)
            raise Cancelled from None

    def _work(self) -> None:
        with tracing.span(f"execute_tool {self.tool.name}", self._traced()) as span:
            try:
                outcome = self._outcome()
            finally:
                connections.close_all()
            span.set({"ratchet.state": outcome.state})
            if outcome.state == ToolCall.State.FAILED:
                span.fail(str(outcome.output.get("error") or "failed")[:64])
        self.inbox.ended(self, outcome)

    def _traced(self) -> tracing.Attributes:
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": self.tool.name,
            "ratchet.step": self.scope.step,
            "ratchet.call": self.index,
            "ratchet.in_doubt": self.in_doubt,
        }

    def _outcome(self) -> Outcome:
        try:
            result = self._result()
            if self.closed:
                raise Cancelled
            self._name_source()
            shown = output.process(result, self.context, self.sources)
        except ToolOutcome as error:
            return self._failed(error)
        except (Exception, SystemExit):
            log.exception("A tool failed", extra={"tool": self.tool.name, "call": self.key})
            return self._failed(Crashed(f"{self.tool.name} failed. {Crashed.__doc__}"))
        return Outcome(
            state=ToolCall.State.SUCCEEDED, output=shown, works=tuple(self.works), sources=self.sources
        )

    def _name_source(self) -> None:
        """A tool that reads outside and does not say where is its own source."""
        if self.tool.reads is Reads.ALWAYS and not self.sources:
            self.sources = taint.merge([self.tool.name])

    def _result(self) -> ToolResult:
        if self.in_doubt and self.tool.lookup is not None:
            found = self.tool.lookup(self.args, self.context)
            if found is not None:
                return found
        return self._call()

    def _call(self) -> ToolResult:
        return self.tool.run(self.args, self.context)

    def _failed(self, error: ToolOutcome) -> Outcome:
        """A tool that was told to stop and then fails, fails because of that."""
        outcome = Outcome.of(self.told_why or error, self.scope.session_id)
        return dataclasses.replace(outcome, sources=self.sources)


_lock = threading.Lock()
_running: weakref.WeakValueDictionary[str, RunningCall] = weakref.WeakValueDictionary()


def find_running(key: str) -> RunningCall | None:
    """The call with this key, when it runs in this process."""
    with _lock:
        return _running.get(key)
