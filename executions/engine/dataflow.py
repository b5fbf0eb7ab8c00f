"""The dataflow of one execution: which node runs become ready, as a pure function of events.

No I/O, no clock, no threads: the same events in the same order give the same runs with the same numbers and
inputs, so a worker that takes over replays the committed events and reaches the state of its predecessor.

Outputs of a node are passed on in the order its runs began, whichever ends first. So what a node sees does not
depend on how long anything took, and the outputs of an agent that loops over a list come in the order of the list.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from blocks.base import ERROR_PIN
from blocks.ports import JSON
from executions import limits
from executions.engine.plan import Load, Plan, PlannedNode

Pairs: TypeAlias = Sequence[tuple[str, JSON]]
OUTPUT_PIN = "output"
TOO_MANY = (
    f"it would be node execution number {limits.MAX_NODE_EXECUTIONS + 1:,}. Check that every loop ends."
)


@dataclass(frozen=True, slots=True)
class RunKey:
    """One run of one node: the first run of a node has the number 1."""

    node_id: str
    number: int


@dataclass(frozen=True, slots=True)
class ReadyRun:
    """A run that can start: all its inputs are available."""

    key: RunKey
    inputs: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class RunEmitted:
    """A run has emitted outputs and continues."""

    key: RunKey
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run has ended, with its last outputs; `error` is empty if it succeeded."""

    key: RunKey
    pairs: Pairs
    error: str = ""


Event: TypeAlias = RunEmitted | RunEnded


@dataclass(frozen=True, slots=True)
class UnhandledFailure:
    """A node failed and its error pin is not linked."""

    node: PlannedNode
    number: int
    error: str


@dataclass(slots=True)
class LinkQueue:
    """The runs of one node, in the order they began."""

    begun: int = 0
    passing: int = 1  # the run whose outputs are passed on; those of later ones are held back
    held: dict[int, list[tuple[str, JSON]]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)


@dataclass(slots=True)
class PinQueues:
    """The values waiting at the pins of one node."""

    queued: dict[str, deque[JSON]]
    static: dict[str, JSON] = field(default_factory=dict)
    last: dict[str, JSON] = field(default_factory=dict)  # for the next round of a loop


def as_it_is(value: JSON) -> JSON:
    return value


class Dataflow:
    """The state of an execution."""

    def __init__(self, plan: Plan, load: Load = as_it_is) -> None:
        self.plan = plan
        self.ready: dict[RunKey, ReadyRun] = {}  # not started yet; the caller removes the runs it starts
        self.outputs: dict[str, list[JSON]] = {}
        self.failure: UnhandledFailure | None = None
        self.begun = 0
        self._load = load
        self._open: dict[RunKey, ReadyRun] = {}  # with outputs that are not all passed on yet
        self._lines: dict[str, LinkQueue] = defaultdict(LinkQueue)
        self._pins = {node.id: pins_of(node) for node in plan.nodes.values()}
        for node in plan.starting():
            self._begin(node, {})

    def apply(self, event: Event) -> None:
        """Apply an event. New runs are in `ready`, new outputs in `outputs`."""
        node, number = self.plan.nodes[event.key.node_id], event.key.number
        line = self._lines[event.key.node_id]
        pairs = list(event.pairs)
        if isinstance(event, RunEnded):
            self.ready.pop(event.key, None)
            line.ended.add(number)
            if event.error and node.error_is_linked:
                pairs.append((ERROR_PIN, event.error))
            elif event.error and self.failure is None:
                self.failure = UnhandledFailure(node, number, event.error)
        line.held.setdefault(number, []).extend(pairs)
        self._pass_on(node, line)

    def static_values(self, node: PlannedNode) -> dict[str, JSON]:
        """Return the current values of the node's static pins, for a run that is called as a tool."""
        return dict(self._pins[node.id].static)

    # --- from outputs to runs ---------------------------------------------------------------------

    def _pass_on(self, node: PlannedNode, line: LinkQueue) -> None:
        while line.passing in line.held:
            key = RunKey(node.id, line.passing)
            for pin, value in line.held.pop(line.passing):
                self._deliver(node, key, pin, value)
            if line.passing not in line.ended:
                return
            line.ended.discard(line.passing)
            self._open.pop(key, None)
            line.passing += 1

    def _deliver(self, node: PlannedNode, key: RunKey, pin: str, value: JSON) -> None:
        if node.is_output and pin == OUTPUT_PIN:
            name = self._open[key].inputs.get("name")
            self.outputs.setdefault(str(name), []).append(value)
        for link, carried in node.carried(pin, value, self._load):
            self._arrive(self.plan.nodes[link.sink_id], link.sink_name, carried)

    def _arrive(self, sink: PlannedNode, pin: str, value: JSON) -> None:
        pins = self._pins[sink.id]
        if pin in pins.queued:
            pins.queued[pin].append(value)
        else:
            pins.static[pin] = value
        if pin in sink.looped:
            self._go_round(sink, pins)
        elif all(name in pins.static for name in sink.static):
            self._go_on(sink, pins)

    def _go_on(self, sink: PlannedNode, pins: PinQueues) -> None:
        """Add a run for every complete set of new values; a node with only static pins runs at each new value."""
        if not sink.queued:
            self._begin(sink, dict(pins.static))
            return
        while all(pins.queued[name] for name in sink.queued):
            fresh = {name: pins.queued[name].popleft() for name in sink.queued}
            pins.last = fresh if sink.looped else {}
            self._begin(sink, pins.static | fresh)

    def _go_round(self, sink: PlannedNode, pins: PinQueues) -> None:
        """Start the next round of a loop with the node's previous values once every looped pin has a value."""
        while all(pins.queued[name] for name in sink.looped):
            back = {name: pins.queued[name].popleft() for name in sink.looped}
            self._begin(sink, pins.static | pins.last | back)

    def _begin(self, node: PlannedNode, linked: Mapping[str, JSON]) -> None:
        line = self._lines[node.id]
        if self.begun >= limits.MAX_NODE_EXECUTIONS:
            self.failure = self.failure or UnhandledFailure(node, line.begun, TOO_MANY)
            return
        line.begun += 1
        self.begun += 1
        run = ReadyRun(RunKey(node.id, line.begun), {**node.values, **linked})
        self.ready[run.key] = self._open[run.key] = run


def pins_of(node: PlannedNode) -> PinQueues:
    return PinQueues(queued={name: deque() for name in (*node.queued, *node.looped)})


def replay(plan: Plan, events: Iterable[Event], load: Load = as_it_is) -> Dataflow:
    """Return the state after these events."""
    state = Dataflow(plan, load)
    for event in events:
        state.apply(event)
    return state
