"""Which of the ready runs begin now: as many as there is room for, and of some nodes one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from durable import limits
from executions.blocks.base import Effects
from executions.engine.noderun import NodeRun
from executions.engine.state import Run, State


class Lineup:
    """Takes runs out of the state's `ready`; those that must wait for another run of their node stand behind it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._behind: dict[str, deque[Run]] = {}  # by node: what waits for the run of it that is under way

    def take(self, at_work: Collection[NodeRun]) -> list[Run]:
        """Quick ones only stand in line for a thread, so there may be more of them under way."""
        quick = sum(is_quick(run) for run in at_work)
        room = {True: limits.WAVE_RUNS - quick, False: limits.PARALLEL_NODES - len(at_work) + quick}
        taken: list[Run] = []
        for key, run in list(self._state.ready.items()):
            block = self._state.plan.nodes[key.node_id].block
            kind = block.effects is Effects.PURE
            if room[kind] <= 0:
                if max(room.values()) <= 0:
                    break
                continue
            del self._state.ready[key]
            if block.sequential and self._must_wait(run):
                continue
            room[kind] -= 1
            taken.append(run)
        return taken

    def _must_wait(self, run: Run) -> bool:
        line = self._behind.get(run.key.node_id)
        if line is None:
            self._behind[run.key.node_id] = deque()
            return False
        line.append(run)
        return True

    def leave(self, run: NodeRun) -> None:
        """A run has ended or was put aside: the next of its node may begin."""
        if run.node.block.sequential and run.key is not None:
            line = self._behind.pop(run.node.id, deque())
            self._state.ready |= {behind.key: behind for behind in line}


def is_quick(run: NodeRun) -> bool:
    """Whether it only computes."""
    return run.node.block.effects is Effects.PURE
