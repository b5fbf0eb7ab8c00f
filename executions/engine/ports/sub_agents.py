"""The sub-agents port: starts a child execution and waits for it without holding a worker for long."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from accounts.errors import OverBudget
from blocks.errors import BlockCancelled, BudgetUsedUp, ParkedForJob
from blocks.ports import JSON, PortError, SubAgentRun
from durable.errors import Refusal
from durable.stop_signal import StopSignal
from durable.wait import wait_for
from executions import limits
from executions.engine.node_run import NodeRun
from executions.engine.ports.store import persist
from executions.models import Agent, Execution, NodeExecution
from executions.start import ExecutionRequest, start


@dataclass(frozen=True, kw_only=True)
class Glimpse:
    """News of a child execution: new outputs, and its end."""

    fresh: list[tuple[str, JSON]]
    execution: Execution

    @property
    def is_news(self) -> bool:
        return bool(self.fresh) or self.execution.is_terminal


@dataclass(frozen=True, kw_only=True)
class SubAgents:
    """The sub-agents of one node run."""

    run_at_work: NodeRun
    parent: Execution
    impatient: Callable[[], bool]  # whether this worker is draining

    def run(self, run: SubAgentRun, cancel: StopSignal) -> Iterator[tuple[str, JSON]]:
        """Yield each output of the child, once over all attempts; raise ParkedForJob if the child takes long."""
        child_id = persist(lambda: self._start(run)).pk
        seen = Counter(pin for pin, _ in self.run_at_work.outputs)
        deadline = time.monotonic() + limits.SUB_AGENT_PATIENCE_SECONDS
        while True:
            glimpse = self._look(child_id, seen, deadline)
            for name, value in glimpse.fresh:
                seen[name] += 1
                yield name, value
            if glimpse.execution.is_terminal:
                self._note_end(glimpse.execution)
                return
            if cancel.is_set():
                raise BlockCancelled
            if time.monotonic() >= deadline or self.impatient():
                raise ParkedForJob(child_id)

    def _start(self, run: SubAgentRun) -> Execution:
        order = ExecutionRequest(
            version=run.version,
            client_id=f"node:{run.key}",
            source=Execution.Source.AGENT,
            node_inputs=run.input_masks or {},
            permissions=self.parent.permissions,
            safe_mode=self.parent.safe_mode,
            session_id=self.parent.session_id,
            outside_sources=tuple(self.parent.outside_sources),
            parent=NodeExecution.objects.select_related("execution").get(pk=self.run_at_work.id),
        )
        try:
            return start(self.parent.user, self._find(run.agent_id), run.inputs, order).execution
        except OverBudget as error:
            raise BudgetUsedUp(error.message) from error
        except Refusal as error:
            raise PortError(f"The agent could not be started: {error}") from error

    def _find(self, agent_id: str) -> Agent:
        try:
            found = Agent.objects.filter(pk=uuid.UUID(agent_id), user_id=self.parent.user_id).first()
        except ValueError:
            found = None
        if found is None or (found.deleted_at and not found.part_of_id):
            raise PortError(f"There is no agent {agent_id} in your library.")
        return found

    def _look(self, child_id: uuid.UUID, seen: Counter[str], deadline: float) -> Glimpse:
        """Wait for news of the child; return its state when the time is over."""

        def glimpse() -> Glimpse:
            child = Execution.objects.get(pk=child_id)
            pairs = (
                (name, value) for name, values in child.outputs.items() for value in values[seen[name] :]
            )
            return Glimpse(fresh=list(pairs), execution=child)

        def look() -> Glimpse | None:
            found = glimpse()
            return found if found.is_news else None

        patience = 0.0 if self.impatient() else max(deadline - time.monotonic(), 0.0)
        found = persist(lambda: wait_for(child_id, look, seconds=patience, stop=self.run_at_work.stop))
        return found or persist(glimpse)

    def _note_end(self, child: Execution) -> None:
        """Record on the run why a failed child gave no more outputs."""
        if child.status != Execution.COMPLETED:
            self.run_at_work.note = f"The agent it ran ended as {child.status}: {child.error}".strip()
