"""The driver of one execution: starts ready runs and commits ended ones in batches, which make others ready.

One thread drives, and it alone writes; blocks run on the threads of the pool.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

from django.db.models import F

from blocks.base import Effects
from durable import crashpoints, event_log
from durable.clock import current_time
from durable.database import give_way, release
from durable.errors import HandOver, JobTimedOut, LeaseLost
from durable.lease import Lease
from durable.stop_signal import StopReason
from durable.tracing import carried
from executions import limits
from executions.engine import deadlines, node_rows
from executions.engine.commit_batch import CommitBatch, OutputPace
from executions.engine.dataflow import ReadyRun, replay
from executions.engine.dependencies import EngineDependencies
from executions.engine.errors import NodeFailed, OutOfMoney, Woken
from executions.engine.node_rows import History, NodeUpdate, run_id
from executions.engine.node_run import DriverInbox, NodeRun, NodeToolCall, RunOutcome
from executions.engine.plan import Plan
from executions.engine.ports.store import persist
from executions.engine.progress import ProgressReporter
from executions.engine.ready_queue import ReadyQueue, is_quick
from executions.engine.scope import ExecutionScope
from executions.engine.suspended import SuspendedRuns, record_of, recorded_facts
from executions.engine.thread_pool import PoolTask
from executions.models import Execution
from executions.models.status import Status
from executions.wait import wake

SHORT_WAIT_SECONDS = 0.05  # after it the database connection is returned


class Driver:
    """One attempt at one execution."""

    def __init__(
        self,
        execution: Execution,
        plan: Plan,
        history: History,
        lease: Lease,
        dependencies: EngineDependencies,
    ) -> None:
        self.execution = execution
        self.lease = lease
        self.threads = dependencies.threads
        self.inbox = DriverInbox()
        self.scope = ExecutionScope(execution, plan, lease, self.inbox, dependencies)
        self.state = replay(plan, history.events, self.scope.large.load)
        self.at_work: dict[uuid.UUID, NodeRun] = {}
        self.suspended = SuspendedRuns()
        self._records = dict(history.records)
        self._seq = history.last_seq
        self._ready_queue = ReadyQueue(self.state)
        self._calls: dict[uuid.UUID, NodeToolCall] = {}
        self._progress = ProgressReporter(execution)
        self._seen_wakes = execution.wakes
        self._worked_before = execution.worked_seconds
        self._claimed_at = self._ticked_at = time.monotonic()
        self._output_pace = OutputPace(self._claimed_at)

    def drive(self) -> None:
        """Run until the execution has ended or is suspended; raises what must end this attempt."""
        stop_listening = self.lease.stop.add_callback(self.inbox.wake)
        try:
            if self.execution.parent_id is not None:
                self._check_wakes()
            self._restore_suspended()
            while not self._is_over():
                self._wait()
                self._commit_ended()
                self._tick()
        finally:
            stop_listening()

    def _is_over(self) -> bool:
        """Start what can be started; return True when nothing is left to do here."""
        while True:
            self._check()
            self._start_ready()
            if self.at_work or len(self.inbox):
                return False
            if self.lease.draining:
                raise HandOver
            if not self.suspended:
                self._progress.send()
                self.lease.finish(Execution.COMPLETED, reason="done", **self.progress())
                return True
            if self._suspend():
                return True

    def _check(self) -> None:
        """Raise if this attempt must stop, or if a node failed without an error link."""
        self.lease.check()
        if self.worked_seconds > limits.MAX_EXECUTION_SECONDS:
            raise JobTimedOut
        if self.state.failure is not None:
            failure = self.state.failure
            raise NodeFailed(f"{failure.node.name} failed: {failure.error}")

    @property
    def worked_seconds(self) -> float:
        return self._worked_before + time.monotonic() - self._claimed_at

    def progress(self) -> dict[str, Any]:
        return {"outputs": self.state.outputs, "worked_seconds": self.worked_seconds}

    # --- starting runs ----------------------------------------------------------------------------

    def _start_ready(self) -> None:
        if not self.lease.draining and self.state.ready:
            self._start([self._make(run) for run in self._ready_queue.take(self.at_work.values())])

    def _make(self, run: ReadyRun) -> NodeRun:
        """Make the run, with what an earlier attempt recorded of it."""
        own_id = run_id(self.execution.pk, run.key)
        left = recorded_facts(self._records.pop(own_id, None))
        node = self.state.plan.nodes[run.key.node_id]
        return NodeRun(id=own_id, node=node, inputs=run.inputs, scope=self.scope, key=run.key, **left)

    def _start(self, runs: list[NodeRun]) -> None:
        """Hand runs to the thread pool; a run with effects has its row first."""
        for run in runs:
            run.begin()
            self.at_work[run.id] = run
        self._write_rows([run for run in runs if needs_row(run)])
        owner = self.execution.user_id
        self.threads.submit([PoolTask(owner, carried(run.work), is_quick(run)) for run in runs if run.key])
        for run in runs:
            if run.key is None:  # its caller holds a thread and waits for it
                self.threads.run_now(carried(run.work))

    def _write_rows(self, runs: list[NodeRun]) -> None:
        if not runs:
            return
        entries = [NodeUpdate(run=run, status=Status.RUNNING, count=run.passed) for run in runs]
        save = lambda: node_rows.save(self.execution.pk, self.lease.attempt, entries)  # noqa: E731
        self.lease.commit(save, worked_seconds=self.worked_seconds)
        for run in runs:
            run.has_row = True
            self._progress.note(run, Status.RUNNING)
        self._progress.send()
        crashpoints.reached("node_begun")

    # --- waiting ----------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Wait for runs to end, many at once when they are quick, or for the next tick."""
        give_way()
        in_line = any(not run.taken for run in self.at_work.values())
        if not self.inbox.wait(limits.NODE_PATIENCE_SECONDS if in_line else SHORT_WAIT_SECONDS):
            if in_line:
                self.threads.add_threads()
                return
            release()
            due = self._ticked_at + limits.EXECUTION_TICK_SECONDS - time.monotonic()
            self.inbox.wait(deadlines.seconds_left(self.at_work.values(), due))
        enough = min(len(self.at_work), limits.COMMIT_BATCH_RUNS)
        if len(self.inbox) < enough:
            self.inbox.wait(limits.COMMIT_BATCH_SECONDS, enough=enough)

    # --- batches ----------------------------------------------------------------------------------

    def _commit_ended(self) -> None:
        """Commit what has ended or was emitted since the last batch; only then is it passed on."""
        for call in self.inbox.take_calls():
            self._run_tool_call(call)
        ended = [run for run in self.inbox.take_ended() if not run.closed]
        ended += deadlines.give_up(self.at_work.values())
        if any(run.outcome is RunOutcome.LOST for run in ended):
            raise LeaseLost
        batch = CommitBatch(self._seq, self.lease.attempt)
        for run in ended:
            batch.end(run)
        for run in self.at_work.values():
            if run.outcome is None and run.node.block.repeats:
                batch.go_on(run)
        if batch.entries:
            self._commit(batch)
        for run in ended:
            self._release(run)
            if run.outcome is RunOutcome.OVER_BUDGET:
                raise OutOfMoney(run.error)

    def _commit(self, batch: CommitBatch) -> None:
        changes: dict[str, Any] = {"worked_seconds": self.worked_seconds}
        if batch.events:
            changes["crashes"] = 0  # progress: only crashes without a commit between them count
        if batch.cost:
            changes["cost"] = F("cost") + batch.cost
        self.lease.commit(lambda: batch.save(self.execution), **changes)
        crashpoints.reached("wave_committed")
        self._seq = batch.seq
        for entry in batch.entries:
            entry.run.has_row = True
            entry.run.passed = entry.count
            self._progress.note(entry.run, entry.status)
        for event in batch.events:
            self.state.apply(event)
        self._progress.send()

    def _release(self, run: NodeRun) -> None:
        """Forget a run after the commit of its end: answer its caller, or keep it with the suspended ones."""
        self.at_work.pop(run.id, None)
        self._ready_queue.release(run)
        if (call := self._calls.pop(run.id, None)) is not None:
            call.answer(run)
        elif run.outcome is RunOutcome.PARKED:
            self.suspended.add(run)

    # --- tools ------------------------------------------------------------------------------------

    def _run_tool_call(self, call: NodeToolCall) -> None:
        """Run a node that an orchestrator calls; answer from its row what finished in an earlier attempt."""
        node = self.state.plan.nodes[call.node_id]
        record = self._records.pop(call.id, None)
        inputs = {**node.values, **self.state.static_values(node), **call.arguments}
        left, caller_id = recorded_facts(record), call.caller.id
        run = NodeRun(id=call.id, node=node, inputs=inputs, scope=self.scope, caller_id=caller_id, **left)
        if record is not None and record.status in node_rows.ENDED:
            run.outcome = RunOutcome.COMPLETED if record.status == Status.COMPLETED else RunOutcome.FAILED
            run.error = record.error
            call.answer(run)
            return
        self._calls[run.id] = call
        self._start([run])

    # --- each second ------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Show long runs and new outputs once a second, and resume suspended runs that are due."""
        if time.monotonic() - self._ticked_at < limits.EXECUTION_TICK_SECONDS:
            return
        self._ticked_at = time.monotonic()
        self._write_rows([run for run in self.at_work.values() if not run.has_row])
        self._write_outputs()
        for run in self.at_work.values():
            if run.progress or run.message:
                self._progress.note(run, Status.RUNNING)
        self._progress.send()
        self._check_wakes()

    def _write_outputs(self) -> None:
        """Write the outputs so far, for people who watch and for a parent that waits."""
        count = sum(map(len, self.state.outputs.values()))
        if not self._output_pace.is_due(count, time.monotonic()):
            return
        self.lease.commit(lambda: None, **self.progress())
        event_log.nudge(self.execution.pk)

    def _check_wakes(self) -> None:
        """Resume what a wake-up was for; stop if the parent execution has ended."""
        facts = Execution.objects.values_list("wakes", "parent__execution__status")
        wakes, parent_status = persist(lambda: facts.get(pk=self.execution.pk))
        if parent_status in Execution.TERMINAL:
            self.lease.stop.set(StopReason.CANCELLED)
        woken, self._seen_wakes = wakes != self._seen_wakes, wakes
        if self.suspended:
            self._resume_due(woken=woken)

    # --- suspended runs ---------------------------------------------------------------------------

    def _restore_suspended(self) -> None:
        """Suspend again what an earlier attempt had suspended, except what is due by now."""
        for key, run in list(self.state.ready.items()):
            record = self._records.get(run_id(self.execution.pk, key))
            if record is not None and record.waits_for:
                del self.state.ready[key]
                self.suspended.add(self._make(run))
        if self.suspended:
            self._resume_due(woken=True)

    def _resume_due(self, *, woken: bool) -> None:
        for run in persist(lambda: self.suspended.take_due(woken=woken)):
            assert run.key is not None, "a tool call is not suspended, its caller is"
            self.state.ready[run.key] = ReadyRun(run.key, run.inputs)
            self._records[run.id] = record_of(run)

    def _suspend(self) -> bool:
        """Suspend the execution and free the worker; return False if a wake-up came first."""
        changes = self.suspended.columns()
        asks = changes["asks_person"]
        try:
            self.lease.suspend(lambda: self._before_waiting(asks), **self.progress(), **changes)
        except Woken:
            self._check_wakes()
            return False
        self.execution.status, self.execution.asks_person = Execution.WAITING, asks
        self._progress.send(at_once=True)
        event_log.nudge(self.execution.pk)
        return True

    def _before_waiting(self, asks: bool) -> None:
        """Raise Woken if a wake-up came first. The commit locks the row, so a later one finds the execution waiting."""
        if Execution.objects.values_list("wakes", flat=True).get(pk=self.execution.pk) != self._seen_wakes:
            raise Woken
        if asks and self.execution.parent is not None:
            wake(self.execution.parent.execution_id)  # now it waits for a person, too

    # --- ending early -----------------------------------------------------------------------------

    def end(self, status: str, *, reason: str, error: str) -> None:
        """End the execution; active runs are asked to stop and get a moment to do so."""
        self._stop_runs()
        batch = CommitBatch(self._seq, self.lease.attempt)
        for run in self.inbox.take_ended():
            if run.outcome in (RunOutcome.COMPLETED, RunOutcome.FAILED) and run.id in self.at_work:
                batch.end(self.at_work.pop(run.id))
        for run in self.at_work.values():
            run.closed = True
            run.ended_at = run.ended_at or current_time()
            run.seconds = run.seconds or time.monotonic() - run.began
            batch.cut_off(run)
        self.lease.finish(
            status,
            reason=reason,
            error=error,
            work=lambda: batch.save(self.execution),
            cost=F("cost") + batch.cost,
            **self.progress(),
        )

    def _stop_runs(self) -> None:
        for run in self.at_work.values():
            run.stop.set(self.lease.stop.reason or StopReason.CANCELLED)
        if self.at_work:
            self.inbox.wait(limits.NODE_STOP_SECONDS, enough=len(self.at_work))

    def abandon(self) -> None:
        """Stop what still runs without waiting for it, and ignore what it emits."""
        for run in self.at_work.values():
            run.closed = True
            run.stop.set(self.lease.stop.reason or StopReason.LOST)


def needs_row(run: NodeRun) -> bool:
    """Return whether its row is written before it begins, as for effects; else it is written at its end."""
    block = run.node.block
    if run.node.pinned is not None:
        return False
    return block.effects is not Effects.PURE or block.sensitive or bool(block.cost)
