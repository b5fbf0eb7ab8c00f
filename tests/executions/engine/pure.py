"""The dataflow without rows and threads: blocks are run with doubles, ends come in any order a test wants."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blocks.errors import BlockError
from blocks.run import run_block
from executions.engine.dataflow import Dataflow, Event, ReadyRun, RunEmitted, RunEnded, replay
from executions.engine.plan import Plan, make_plan
from executions.graph import Graph
from tests.blocks.doubles import make_context
from tests.executions.engine.graphs import registry

Pick = Callable[[Sequence[ReadyRun]], int]


def first(ready: Sequence[ReadyRun]) -> int:
    return 0


def by_chance(seed: int) -> Pick:
    dice = random.Random(seed)
    return lambda ready: dice.randrange(len(ready))


def plan(of: Graph, inputs: Mapping[str, Any] | None = None) -> Plan:
    return make_plan(of, registry(), inputs=inputs or {})


def work(planned: Plan, run: ReadyRun) -> tuple[list[tuple[str, Any]], str]:
    """What the block emits, and its error."""
    pairs: list[tuple[str, Any]] = []
    block = planned.nodes[run.key.node_id].block
    try:
        for pair in run_block(block, run.inputs, make_context()):
            pairs.append(pair)
    except BlockError as error:
        return pairs, str(error)
    return pairs, ""


def finish(
    planned: Plan, pick: Pick = first, *, crash_every: int = 0, early: bool = False
) -> tuple[Dataflow, list[Event]]:
    """Run to the end; `pick` says which of the open runs ends next.

    With `crash_every`, all is forgotten but the events after so many of them, as if a worker had died and another
    had replayed what was committed.
    """
    events: list[Event] = []
    state = Dataflow(planned)
    open_runs: dict[Any, ReadyRun] = {}
    while True:
        open_runs |= state.ready
        state.ready.clear()
        if not open_runs or state.failure is not None:
            return state, events
        chosen = list(open_runs.values())[pick(list(open_runs.values()))]
        pairs, error = work(planned, open_runs.pop(chosen.key))
        if early and len(pairs) > 1:
            events.append(RunEmitted(chosen.key, pairs[:1]))
            state.apply(events[-1])
            pairs = pairs[1:]
        events.append(RunEnded(chosen.key, pairs, error))
        state.apply(events[-1])
        if crash_every and len(events) % crash_every == 0:
            state = replay(planned, events)
            open_runs = {}
