"""One run of one node on a thread of the pool, from its inputs to an outcome."""

from __future__ import annotations

import enum
import threading
import time
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from blocks.base import Effects, Leaves
from blocks.context import BlockContext, Meter
from blocks.errors import (
    BlockCancelled,
    BlockError,
    BlockFailed,
    BlockParked,
    BlockTimedOut,
    BudgetUsedUp,
    InputError,
)
from blocks.pins import MISSING
from blocks.ports import JSON, ReviewQuestion
from blocks.prepare import prepare
from blocks.run import emit
from blocks.schema import BlockInputs
from boundary import taint
from durable import crashpoints, tracing
from durable.clock import current_time
from durable.errors import DurableError
from durable.stop_signal import StopReason, StopSignal
from executions import limits
from executions.engine.dataflow import RunKey
from executions.engine.errors import ValueNotStored
from executions.engine.large_values import size_of
from executions.engine.plan import PlannedNode

T = TypeVar("T")
INTERRUPTED = (
    "{name} was interrupted while it ran: its effect may or may not have happened. It was not run again, so that "
    "it does not happen twice. Check whether it did, then run the agent again if needed."
)


class RunOutcome(enum.Enum):
    """How an active run ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    PARKED = "parked"  # suspended: it is run again later
    STOPPED = "stopped"  # on request
    OVER_BUDGET = "over_budget"  # not run: the budget is used up
    LOST = "lost"  # the attempt cannot continue


@dataclass(kw_only=True, eq=False)
class NodeToolCall:
    """A call of a node by an orchestrator, on its way to the driver and back."""

    id: uuid.UUID
    node_id: str
    arguments: Mapping[str, JSON]
    caller: NodeRun
    run: NodeRun | None = None  # how it ended
    done: threading.Event = field(default_factory=threading.Event)

    def answer(self, run: NodeRun) -> None:
        self.run = run
        self.done.set()


class DriverInbox:
    """Queue of what wakes the driver: ended runs, tool calls, and plain wake-ups."""

    def __init__(self) -> None:
        self._ended: deque[NodeRun] = deque()
        self._calls: deque[NodeToolCall] = deque()
        self._woken = threading.Event()
        self._enough = 1

    def ended(self, run: NodeRun) -> None:
        self._ended.append(run)
        if len(self._ended) >= self._enough:
            self._woken.set()

    def call(self, call: NodeToolCall) -> None:
        self._calls.append(call)
        self._woken.set()

    def wake(self) -> None:
        self._woken.set()

    def wait(self, seconds: float, *, enough: int = 1) -> bool:
        """Return True when so many runs have ended or something else came; False when the time is over."""
        self._enough = enough
        if len(self._ended) < enough:
            self._woken.wait(max(seconds, 0.0))
        woken = self._woken.is_set() or len(self._ended) >= enough
        self._woken.clear()
        self._enough = 1
        return woken

    def take_ended(self) -> list[NodeRun]:
        """Remove and return the runs that have ended."""
        return take_all(self._ended)

    def take_calls(self) -> list[NodeToolCall]:
        """Remove and return the tool calls."""
        return take_all(self._calls)

    def __len__(self) -> int:
        return len(self._ended) + len(self._calls)


def take_all(queue: deque[T]) -> list[T]:
    taken: list[T] = []
    while queue:
        taken.append(queue.popleft())
    return taken


class Values(Protocol):
    """Storage for values that are too large for a row."""

    def keep(self, value: JSON, *, key: str) -> JSON: ...

    def load(self, value: JSON) -> JSON: ...


class RunScope(Protocol):
    """What a run belongs to: an execution, or only the user who runs a single block."""

    inbox: DriverInbox
    safe_mode: bool

    @property
    def large(self) -> Values: ...

    def check_budget(self) -> None:
        """Raise BudgetUsedUp if the user may run nothing that costs."""
        ...

    def context_of(self, run: NodeRun) -> BlockContext: ...

    def tainted_by(self, run: NodeRun, leaves: Leaves) -> taint.Sources:
        """Return the outside content that may have caused this effect; empty if there is none."""
        ...


@dataclass(kw_only=True, eq=False)
class NodeRun:
    """A run and its state; only its own thread writes it while it is active."""

    id: uuid.UUID  # the same in every attempt: the key of all its effects
    node: PlannedNode
    inputs: Mapping[str, JSON]
    scope: RunScope
    key: RunKey | None = None  # None: called as a tool
    caller_id: uuid.UUID | None = None
    outputs: list[tuple[str, JSON]] = field(default_factory=list)  # those of earlier attempts first
    early: list[tuple[int, int]] = field(default_factory=list)
    in_doubt: bool = False  # an earlier attempt had begun it and recorded no end
    has_row: bool = False
    shown_inputs: Mapping[str, JSON] | None = None  # if a person changed them
    outcome: RunOutcome | None = None
    error: str = ""
    note: str = ""  # a remark on a run that did not fail
    parked: BlockParked | None = None
    progress: float = 0.0
    message: str = ""
    queued_at: datetime = field(default_factory=current_time)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    began: float = 0.0  # on the monotonic clock, of this attempt
    seconds: float = 0.0
    prepaid: bool = False  # its fixed price is already charged
    ran: bool = False  # the block was started, so its usage is charged
    taken: bool = False  # a thread runs it
    give_up_at: float | None = None
    closed: bool = False  # further outputs are ignored
    stop: StopSignal = field(default_factory=StopSignal)
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        self.recorded = len(self.outputs)
        self.passed = self.recorded  # so many outputs are committed
        self._bytes = 0
        self._loaded: dict[int, tuple[JSON, JSON]] = {}

    @property
    def deadline(self) -> float | None:
        """Return when its time is over; None before a thread has taken it, and for blocks without a time cap."""
        cap = self.node.block.time_cap_seconds
        return self.began + cap if self.taken and cap is not None else None

    def begin(self) -> None:
        """Note that it waits for a thread from now on."""
        self.began = time.monotonic()
        self.started_at = self.started_at or current_time()

    def work(self) -> None:
        """Run to an outcome, on a thread of the pool."""
        self.began = time.monotonic()
        self.taken = True
        if not self.closed:
            with tracing.span("node", {"ratchet.block": self.node.block.name}) as span:
                self._find_outcome()
                if self.outcome is RunOutcome.FAILED:
                    span.fail("failed")
        self.seconds = time.monotonic() - self.began
        self.ended_at = current_time()
        crashpoints.reached("node_worked")
        self.scope.inbox.ended(self)

    def _find_outcome(self) -> None:
        try:
            self._run()
            self.outcome = RunOutcome.COMPLETED
        except BlockParked as parked:
            self.outcome, self.parked = RunOutcome.PARKED, parked
        except BlockCancelled:
            if self.stop.reason is StopReason.TIMED_OUT:
                self.outcome, self.error = RunOutcome.FAILED, str(BlockTimedOut())
            else:
                self.outcome = RunOutcome.STOPPED
        except BudgetUsedUp as error:
            self.outcome, self.error = RunOutcome.OVER_BUDGET, str(error)
        except (BlockError, ValueNotStored) as error:
            self.outcome, self.error = RunOutcome.FAILED, str(error)
        except DurableError:
            self.outcome = RunOutcome.LOST

    def _run(self) -> None:
        if self.node.pinned is not None:
            for pin, value in self.node.pinned[self.recorded :]:
                self._keep(pin, value)
            return
        block = self.node.block
        values = {name: self._load(value) for name, value in self.inputs.items()}
        inputs = prepare(block, values)
        if self.in_doubt and block.effects is Effects.EFFECTFUL and not block.is_repeatable(inputs):
            self.ran = True  # or may have: it is charged in doubt
            raise BlockFailed(INTERRUPTED.format(name=self.node.name))
        if block.cost and not self.prepaid:
            self.scope.check_budget()
        context = self.scope.context_of(self)
        sources = self._tainted_by(inputs)
        if sources or (block.sensitive and self.scope.safe_mode):
            inputs = self._ask_first(inputs, values, context, sources)
        self.ran = True
        skip = 0 if block.resumable else self.recorded
        for pin, value in emit(block, inputs, context):
            if skip:
                skip -= 1  # an earlier attempt emitted and passed it on
                continue
            self._keep(pin, value)

    def _tainted_by(self, inputs: BlockInputs) -> taint.Sources:
        """Return why a person must approve an effect that leaves the site; raise BlockFailed if the site forbids it."""
        leaves = self.node.block.leaves_with(inputs)
        if leaves is Leaves.NOTHING:
            return ()
        sources = self.scope.tainted_by(self, leaves)
        policy = taint.current_policy()
        if not sources or policy is taint.TaintPolicy.ALLOW:
            return ()
        if policy is taint.TaintPolicy.DENY:
            raise BlockFailed(f"{taint.explain(sources)} {taint.DENIED}")
        return sources

    def _ask_first(
        self, inputs: BlockInputs, values: Mapping[str, JSON], context: BlockContext, sources: taint.Sources
    ) -> BlockInputs:
        """Ask a person to approve the block's effect; return the inputs as they approved them."""
        shown = {name: value for name, value in values.items() if value is not None}
        question = ReviewQuestion(name=self.node.name, data=shown, editable=True, outside_sources=sources)
        decision = context.ports.reviews.decide(question, context.key("review"))
        if not decision.approved:
            said = f": {decision.message}" if decision.message else "."
            raise BlockFailed(f"A person did not approve {self.node.name}{said}")
        if decision.data == shown:
            return inputs
        if not isinstance(decision.data, dict):
            raise InputError([])
        self.shown_inputs = decision.data
        return prepare(self.node.block, decision.data)

    def _load(self, value: JSON) -> JSON:
        loaded = self.scope.large.load(value)
        if loaded is not value:
            self._loaded[id(loaded)] = loaded, value
        return loaded

    def _keep(self, pin: str, value: JSON) -> None:
        place = len(self.outputs)
        _, stored = self._loaded.get(id(value), (None, MISSING))  # passed on unchanged: already stored
        if stored is MISSING:
            stored = self.scope.large.keep(value, key=f"{self.id}-{place}")
        self._bytes += size_of(stored, limits.MAX_STORED_VALUE_BYTES)
        if self._bytes > limits.MAX_NODE_OUTPUT_BYTES:
            raise BlockFailed(f"It emitted more than {limits.MAX_NODE_OUTPUT_BYTES:,} bytes in one run.")
        self.outputs.append((pin, stored))
        if self.node.block.repeats and time.monotonic() - self.began > limits.EARLY_OUTPUT_SECONDS:
            self.scope.inbox.wake()
            self.stop_if_closed()

    def stop_if_closed(self) -> None:
        if self.closed:
            raise BlockCancelled

    def report(self, fraction: float, message: str) -> None:
        """Note the block's progress, to be shown with the next update."""
        self.progress, self.message = min(max(fraction, 0.0), 1.0), message
