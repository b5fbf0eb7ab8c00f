"""The queue of ready runs: limits how many are active, and runs sequential blocks one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from blocks.base import Effects
from executions import limits
from executions.engine.dataflow import Dataflow, ReadyRun
from executions.engine.node_run import NodeRun


class ReadyQueue:
    """Takes runs out of the state's `ready`; runs of a sequential node queue behind the active one."""

    def __init__(self, state: Dataflow) -> None:
        self._state = state
        self._behind: dict[str, deque[ReadyRun]] = {}  # by node: runs behind the active one

    def take(self, at_work: Collection[NodeRun]) -> list[ReadyRun]:
        """Return the runs to start. Quick ones only queue for a thread, so more of them may be active."""
        quick = sum(is_quick(run) for run in at_work)
        room = {True: limits.COMMIT_BATCH_RUNS - quick, False: limits.PARALLEL_NODES - len(at_work) + quick}
        taken: list[ReadyRun] = []
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

    def _must_wait(self, run: ReadyRun) -> bool:
        line = self._behind.get(run.key.node_id)
        if line is None:
            self._behind[run.key.node_id] = deque()
            return False
        line.append(run)
        return True

    def release(self, run: NodeRun) -> None:
        """Record that a run has ended or is suspended: the next one of its node may start."""
        if run.node.block.sequential and run.key is not None:
            line = self._behind.pop(run.node.id, deque())
            self._state.ready |= {behind.key: behind for behind in line}


def is_quick(run: NodeRun) -> bool:
    """Return whether it only computes."""
    return run.node.block.effects is Effects.PURE
