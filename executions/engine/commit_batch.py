"""A commit batch: the rows, charges and events that one commit writes for runs that ended or emitted."""

from __future__ import annotations

import time
import uuid
from decimal import Decimal

from accounts.ledger import Charge, charge_all
from accounts.models import LedgerEntry
from blocks.base import Effects
from executions import limits
from executions.engine import node_rows
from executions.engine.dataflow import Event, RunEmitted, RunEnded
from executions.engine.node_rows import NodeUpdate
from executions.engine.node_run import NodeRun, RunOutcome
from executions.models import Execution
from executions.models.status import Status

SMALLEST = Decimal("0.000001")


class CommitBatch:
    """Gathers entries, events and charges; every event takes the next number in the order of the execution."""

    def __init__(self, seq: int, attempt: int) -> None:
        self.seq = seq
        self.attempt = attempt
        self.entries: list[NodeUpdate] = []
        self.events: list[Event] = []
        self.charges: list[Charge] = []
        self.cost = Decimal(0)
        self._forgotten: list[uuid.UUID] = []

    def save(self, execution: Execution) -> None:
        """Write all of it, inside the caller's transaction; may be called again after a rollback."""
        node_rows.save(execution.pk, self.attempt, self.entries)
        if self.charges:
            charge_all(self.charges, user_id=execution.user_id, job_id=execution.pk)
        node_rows.forget_stored(execution.user_id, self._forgotten)

    # --- what happened to a run -------------------------------------------------------------------

    def end(self, run: NodeRun) -> None:
        """Add a run that has reached an outcome."""
        match run.outcome:
            case RunOutcome.COMPLETED:
                self._close(run, Status.COMPLETED, seq=self._add_end(run, ""))
            case RunOutcome.FAILED:
                self._close(run, Status.FAILED, seq=self._add_end(run, run.error))
            case RunOutcome.STOPPED:
                run.error = run.error or f"{run.node.name} was stopped."
                self._close(run, Status.FAILED, seq=self._add_end(run, run.error))
            case RunOutcome.OVER_BUDGET:
                self._close(run, Status.FAILED, seq=None)
            case RunOutcome.PARKED:
                self._pass_on(run)
                self.entries.append(NodeUpdate(run=run, status=Status.WAITING, count=len(run.outputs)))
            case _:
                raise AssertionError(f"a run does not end as {run.outcome}")

    def go_on(self, run: NodeRun) -> None:
        """Add the outputs of a long run, which are passed on before its end."""
        if time.monotonic() - run.began > limits.EARLY_OUTPUT_SECONDS and self._pass_on(run):
            self.entries.append(NodeUpdate(run=run, status=Status.RUNNING, count=run.early[-1][1]))

    def cut_off(self, run: NodeRun) -> None:
        """Add a run that is still active when the execution ends; its usage is charged."""
        cost = price_of(run)
        self.entries.append(NodeUpdate(run=run, status=Status.TERMINATED, count=run.passed, cost=cost))
        self._charge(run, cost, cut_off=True)

    def _close(self, run: NodeRun, status: Status, *, seq: int | None) -> None:
        cost = price_of(run)
        self.entries.append(NodeUpdate(run=run, status=status, count=len(run.outputs), seq=seq, cost=cost))
        self._charge(run, cost)
        if run.node.block.effects is not Effects.PURE or run.node.block.nondeterministic:
            self._forgotten.append(run.id)

    def _charge(self, run: NodeRun, cost: Decimal, *, cut_off: bool = False) -> None:
        if cost:
            self.charges.append(charge_for(run, cost, attempt=self.attempt, cut_off=cut_off))
            self.cost += cost

    # --- events -----------------------------------------------------------------------------------

    def _add_end(self, run: NodeRun, error: str) -> int | None:
        """Add the event of its end and return its number; a tool call has none, because it returns to its caller."""
        if run.key is None:
            return None
        self.events.append(RunEnded(run.key, run.outputs[run.passed :], error))
        return self._next_seq()

    def _pass_on(self, run: NodeRun) -> bool:
        count = len(run.outputs)
        if run.key is None or count == run.passed:
            return False
        run.early.append((self._next_seq(), count))
        self.events.append(RunEmitted(run.key, run.outputs[run.passed : count]))
        return True

    def _next_seq(self) -> int:
        self.seq += 1
        return self.seq


def price_of(run: NodeRun) -> Decimal:
    """Return the price of what a run used, whatever its outcome; 0 if its block was never begun."""
    if not run.ran:
        return Decimal(0)
    return run.node.block.cost.total(run.meter, seconds=run.seconds).quantize(SMALLEST)


def charge_for(run: NodeRun, amount: Decimal, *, attempt: int, cut_off: bool = False) -> Charge:
    """Return the charge of a run, made once: its key is the run, and the attempt too if it was cut off."""
    key = f"node:{run.id}:{attempt}" if cut_off else f"node:{run.id}"
    return Charge(key=key, kind=LedgerEntry.Kind.BLOCK, amount=amount, description=run.node.block.name)


class OutputPace:
    """Decide when to write the outputs: when there are enough new ones, or after a while.

    The column is written as a whole, so writing it at every change would cost quadratic time.
    """

    def __init__(self, now: float) -> None:
        self._written = 0
        self._written_at = now

    def is_due(self, count: int, now: float) -> bool:
        """Return whether to write `count` outputs now; if so, they count as written."""
        if count == self._written:
            return False
        has_grown = count >= self._written * limits.OUTPUTS_GROWTH
        if not has_grown and now - self._written_at < limits.OUTPUTS_STALE_SECONDS:
            return False
        self._written, self._written_at = count, now
        return True
