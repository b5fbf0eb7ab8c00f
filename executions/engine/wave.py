"""A wave: what one commit writes of the runs that ended or emitted, and the events that follow from it."""

from __future__ import annotations

import time
import uuid
from decimal import Decimal

from accounts.ledger import Charge, charge_all
from durable import limits
from executions.blocks.base import Effects
from executions.blocks.errors import ParkedForReview
from executions.engine import billing, rows
from executions.engine.noderun import NodeRun, Outcome
from executions.engine.rows import Entry
from executions.engine.state import Emitted, Ended, Event
from executions.models import Execution
from executions.models.execution import Status


class Wave:
    """Gathers entries, events and charges; every event takes the next place in the order of the execution."""

    def __init__(self, place: int, attempt: int) -> None:
        self.place = place
        self.attempt = attempt
        self.entries: list[Entry] = []
        self.events: list[Event] = []
        self.charges: list[Charge] = []
        self.cost = Decimal(0)
        self._forgotten: list[uuid.UUID] = []

    def save(self, execution: Execution) -> None:
        """Write all of it, inside the caller's transaction; may be called again after a rollback."""
        rows.save(execution.pk, self.attempt, self.entries)
        if self.charges:
            charge_all(self.charges, user_id=execution.user_id, job_id=execution.pk)
        rows.forget_stored(execution.user_id, self._forgotten)

    # --- what happened to a run -------------------------------------------------------------------

    def end(self, run: NodeRun) -> None:
        """It came to an outcome of its own."""
        match run.outcome:
            case Outcome.COMPLETED:
                self._close(run, Status.COMPLETED, seq=self._tell_end(run, ""))
            case Outcome.FAILED:
                self._close(run, Status.FAILED, seq=self._tell_end(run, run.error))
            case Outcome.STOPPED:
                run.error = run.error or f"{run.node.name} was stopped."
                self._close(run, Status.FAILED, seq=self._tell_end(run, run.error))
            case Outcome.OVER_BUDGET:
                self._close(run, Status.FAILED, seq=None)
            case Outcome.PARKED:
                self._pass_on(run)
                status = Status.REVIEW if isinstance(run.parked, ParkedForReview) else Status.RUNNING
                self.entries.append(Entry(run=run, status=status, count=len(run.outputs)))
            case _:
                raise AssertionError(f"a run does not end as {run.outcome}")

    def go_on(self, run: NodeRun) -> None:
        """It is at work still, for so long that what it has emitted is passed on."""
        if time.monotonic() - run.began > limits.EARLY_OUTPUT_SECONDS and self._pass_on(run):
            self.entries.append(Entry(run=run, status=Status.RUNNING, count=run.early[-1][1]))

    def cut_off(self, run: NodeRun) -> None:
        """The execution ends while it is at work; what it has used is paid for."""
        cost = billing.price_of(run)
        self.entries.append(Entry(run=run, status=Status.TERMINATED, count=run.passed, cost=cost))
        self._charge(run, cost, cut_off=True)

    def _close(self, run: NodeRun, status: Status, *, seq: int | None) -> None:
        cost = billing.price_of(run)
        self.entries.append(Entry(run=run, status=status, count=len(run.outputs), seq=seq, cost=cost))
        self._charge(run, cost)
        if run.node.block.effects is not Effects.PURE or run.node.block.nondeterministic:
            self._forgotten.append(run.id)

    def _charge(self, run: NodeRun, cost: Decimal, *, cut_off: bool = False) -> None:
        if cost:
            self.charges.append(billing.charge_for(run, cost, attempt=self.attempt, cut_off=cut_off))
            self.cost += cost

    # --- events -----------------------------------------------------------------------------------

    def _tell_end(self, run: NodeRun, error: str) -> int | None:
        """Its place in the order; a run that was called has none, it answers whoever called it."""
        if run.key is None:
            return None
        self.events.append(Ended(run.key, run.outputs[run.passed :], error))
        return self._next_place()

    def _pass_on(self, run: NodeRun) -> bool:
        count = len(run.outputs)
        if run.key is None or count == run.passed:
            return False
        run.early.append((self._next_place(), count))
        self.events.append(Emitted(run.key, run.outputs[run.passed : count]))
        return True

    def _next_place(self) -> int:
        self.place += 1
        return self.place
