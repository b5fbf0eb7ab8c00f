"""One tool call, running on its own thread."""

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
from durable import tracing
from durable.database import release
from durable.errors import DurableError
from durable.stop_signal import StopReason, StopSignal
from tools import limits, output
from tools.base import Effect, Reads, Tool, ToolArgs, ToolResult
from tools.context import ToolContext, WatchedExecution
from tools.errors import (
    ApprovalNeeded,
    GoesOnElsewhere,
    Interrupted,
    NoResults,
    ToolCancelled,
    ToolError,
    ToolOutcome,
)
from tools.journal import CallScope, Journal
from tools.models import ToolCall
from tools.operations.held import follow

log = logging.getLogger(__name__)

UNREPEATABLE = frozenset({Effect.EFFECTFUL, Effect.FOREIGN})


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """How a call ended; `works` run in the transaction that saves its result."""

    state: ToolCall.State
    output: dict[str, Any]
    works: tuple[Callable[[], object], ...] = ()
    sources: taint.Sources = ()  # of third-party content in the output

    @classmethod
    def of(cls, error: ToolOutcome, session_id: uuid.UUID) -> CallOutcome:
        return cls(state=state_of(error), output=output.reply(error, session_id))

    @property
    def error_text(self) -> str | None:
        return str(self.output.get("message", "")) if self.output.get("type") == "error" else None


def state_of(error: ToolOutcome) -> ToolCall.State:
    if isinstance(error, NoResults | ApprovalNeeded):
        return ToolCall.State.SUCCEEDED
    if isinstance(error, ToolCancelled):
        return ToolCall.State.CANCELLED
    if isinstance(error, Interrupted):
        return ToolCall.State.INTERRUPTED
    return ToolCall.State.FAILED


class Crashed(ToolError):
    """The tool failed because of an internal error, which was logged."""

    code = "internal"
    next_step = "Try another way, or tell the user."


class StepInbox:
    """Wakes the step from any thread: when a call ends, or when a stop is requested."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[RunningCall, CallOutcome] | None] = queue.SimpleQueue()

    def ended(self, call: RunningCall, outcome: CallOutcome) -> None:
        self._queue.put((call, outcome))

    def wake(self) -> None:
        self._queue.put(None)

    def next(self, timeout: float) -> tuple[RunningCall, CallOutcome] | None:
        """Return the next call that ended; None when woken for another reason or after the timeout."""
        release()
        try:
            return self._queue.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None


@dataclass(kw_only=True, eq=False)
class RunningCall:
    """A call with its context, its stop signal and its thread."""

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
    inbox: StepInbox
    stop: StopSignal = field(default_factory=StopSignal)
    stopped_by: ToolOutcome | None = None
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
        """Start on a daemon thread: a tool that never returns must not keep the process alive."""
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
            self.inbox.ended(
                self, self._failed(ToolError("This machine is too busy right now. Try again later."))
            )

    def request_stop(self, why: ToolOutcome, reason: StopReason = StopReason.CANCELLED) -> None:
        """Ask the tool to stop; the first reason counts. After a short grace period the call is abandoned."""
        if self.stopped_by is not None:
            return
        if self.tool.effect in UNREPEATABLE:
            why.details["may_have_happened"] = True
        self.stopped_by = why
        self.give_up_at = time.monotonic() + limits.TOOL_CANCEL_GRACE_SECONDS
        self.stop.set(reason)

    def close(self) -> None:
        """Ignore everything that this call does from here on."""
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
        except DurableError:  # another worker owns the turn now and makes the same call
            self.stop.set(StopReason.LOST)
            raise ToolCancelled from None

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

    def _outcome(self) -> CallOutcome:
        try:
            result = self._result()
            if self.closed:
                raise ToolCancelled
            self._name_source()
            shown = output.process(result, self.context, self.sources)
        except GoesOnElsewhere as elsewhere:
            return self._goes_on(elsewhere)
        except ToolOutcome as error:
            return self._failed(error)
        except (Exception, SystemExit):
            log.exception("A tool failed", extra={"tool": self.tool.name, "call": self.key})
            return self._failed(
                Crashed(f"{self.tool.name} failed because of an internal error, which was logged.")
            )
        return CallOutcome(
            state=ToolCall.State.SUCCEEDED, output=shown, works=tuple(self.works), sources=self.sources
        )

    def _goes_on(self, elsewhere: GoesOnElsewhere) -> CallOutcome:
        """Return the outcome of a call whose work goes on elsewhere: an operation, stored with this outcome."""
        self._name_source()
        started = follow(self.tool, self.arguments, self.context, elsewhere)
        return CallOutcome(
            state=ToolCall.State.SUCCEEDED,
            output=started.answer,
            works=(*self.works, started.save),
            sources=self.sources,
        )

    def _name_source(self) -> None:
        """Name the tool itself as the source when it always reads third-party content and named none."""
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

    def _failed(self, error: ToolOutcome) -> CallOutcome:
        """Return the outcome of an error; one that follows a stop request is because of that request."""
        outcome = CallOutcome.of(self.stopped_by or error, self.scope.session_id)
        return dataclasses.replace(outcome, sources=self.sources)


_lock = threading.Lock()
_running: weakref.WeakValueDictionary[str, RunningCall] = weakref.WeakValueDictionary()


def find_running(key: str) -> RunningCall | None:
    """Return the call with this key if it runs in this process."""
    with _lock:
        return _running.get(key)
