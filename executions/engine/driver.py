"""Driving one execution: ready runs are started, ended ones committed in waves, and the waves bring new ones.

One thread drives, and it alone writes; blocks run on the threads of the crew.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

from django.db.models import F

from durable import crashpoints, limits, log
from durable.clock import current_time
from durable.connections import give_way, release
from durable.errors import HandOver, LeaseLost, TimedOut
from durable.lease import Lease
from durable.log_context import carried
from durable.stop import StopReason
from executions.blocks.base import Effects
from executions.engine import overtime, rows
from executions.engine.aside import Aside, left_by, record_of
from executions.engine.crew import Task
from executions.engine.equipment import Equipment
from executions.engine.errors import NodeFailed, OutOfMoney, Woken
from executions.engine.lineup import Lineup, is_quick
from executions.engine.noderun import Inbox, NodeRun, Outcome
from executions.engine.output_pace import OutputPace
from executions.engine.plan import Plan
from executions.engine.ports.database import persist
from executions.engine.ports.tools import Call
from executions.engine.rows import Entry, History, run_id
from executions.engine.scope import ExecutionScope
from executions.engine.state import Run, replay
from executions.engine.telling import Telling
from executions.engine.wave import Wave
from executions.models import Execution
from executions.models.execution import Status
from executions.waking import wake

SHORT_WAIT_SECONDS = 0.05  # after it the database connection is given back


class Driver:
    """One attempt at one execution."""

    def __init__(
        self, execution: Execution, plan: Plan, history: History, lease: Lease, equipment: Equipment
    ) -> None:
        self.execution = execution
        self.lease = lease
        self.crew = equipment.crew
        self.inbox = Inbox()
        self.scope = ExecutionScope(execution, plan, lease, self.inbox, equipment.model)
        self.state = replay(plan, history.events, self.scope.large.load)
        self.at_work: dict[uuid.UUID, NodeRun] = {}
        self.aside = Aside()
        self._records = dict(history.records)
        self._place = history.place
        self._lineup = Lineup(self.state)
        self._calls: dict[uuid.UUID, Call] = {}
        self._telling = Telling(execution)
        self._seen_wakes = execution.wakes
        self._worked_before = execution.worked_seconds
        self._claimed_at = self._looked_at = time.monotonic()
        self._output_pace = OutputPace(self._claimed_at)

    def drive(self) -> None:
        """Until the execution has ended or waits without a worker; raises what must end this attempt."""
        stop_listening = self.lease.stop.add_callback(self.inbox.wake)
        try:
            if self.execution.parent_id is not None:
                self._listen()
            self._restore_aside()
            while not self._is_over():
                self._wait()
                self._take_wave()
                self._look_around()
        finally:
            stop_listening()

    def _is_over(self) -> bool:
        """Start what can be started; True when nothing is left to do here."""
        while True:
            self._heed()
            self._start_ready()
            if self.at_work or len(self.inbox):
                return False
            if self.lease.draining:
                raise HandOver
            if not self.aside:
                self._telling.tell()
                self.lease.finish(Execution.COMPLETED, reason="done", **self.progress())
                return True
            if self._put_aside():
                return True

    def _heed(self) -> None:
        """Raise when this attempt must stop, or when a node failed for good."""
        self.lease.check()
        if self.worked_seconds > limits.MAX_EXECUTION_SECONDS:
            raise TimedOut
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
            self._start([self._make(run) for run in self._lineup.take(self.at_work.values())])

    def _make(self, run: Run) -> NodeRun:
        """The run, with whatever an earlier attempt left of it."""
        own_id = run_id(self.execution.pk, run.key)
        left = left_by(self._records.pop(own_id, None))
        node = self.state.plan.nodes[run.key.node_id]
        return NodeRun(id=own_id, node=node, inputs=run.inputs, scope=self.scope, key=run.key, **left)

    def _start(self, runs: list[NodeRun]) -> None:
        """Hand runs to the crew; what has effects has its row first."""
        for run in runs:
            run.begin()
            self.at_work[run.id] = run
        self._write_down([run for run in runs if needs_row(run)])
        owner = self.execution.user_id
        self.crew.submit([Task(owner, carried(run.work), is_quick(run)) for run in runs if run.key])
        for run in runs:
            if run.key is None:  # somebody holds a thread and waits for it
                self.crew.run_now(carried(run.work))

    def _write_down(self, runs: list[NodeRun]) -> None:
        if not runs:
            return
        entries = [Entry(run=run, status=Status.RUNNING, count=run.passed) for run in runs]
        save = lambda: rows.save(self.execution.pk, self.lease.attempt, entries)  # noqa: E731
        self.lease.commit(save, worked_seconds=self.worked_seconds)
        for run in runs:
            run.has_row = True
            self._telling.note(run, Status.RUNNING)
        self._telling.tell()
        crashpoints.reached("node_begun")

    # --- waiting ----------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Until runs have ended, many of them at once when they are quick, or until it is time to look around."""
        give_way()
        in_line = any(not run.taken for run in self.at_work.values())
        if not self.inbox.wait(limits.NODE_PATIENCE_SECONDS if in_line else SHORT_WAIT_SECONDS):
            if in_line:
                self.crew.help()
                return
            release()
            due = self._looked_at + limits.EXECUTION_TICK_SECONDS - time.monotonic()
            self.inbox.wait(overtime.seconds_left(self.at_work.values(), due))
        enough = min(len(self.at_work), limits.WAVE_RUNS)
        if len(self.inbox) < enough:
            self.inbox.wait(limits.WAVE_SECONDS, enough=enough)

    # --- waves ------------------------------------------------------------------------------------

    def _take_wave(self) -> None:
        """Commit what has ended or come out since the last wave; only then is it passed on."""
        for call in self.inbox.take_calls():
            self._answer(call)
        ended = [run for run in self.inbox.take_ended() if not run.closed]
        ended += overtime.give_up(self.at_work.values())
        if any(run.outcome is Outcome.LOST for run in ended):
            raise LeaseLost
        wave = Wave(self._place, self.lease.attempt)
        for run in ended:
            wave.end(run)
        for run in self.at_work.values():
            if run.outcome is None and run.node.block.repeats:
                wave.go_on(run)
        if wave.entries:
            self._commit(wave)
        for run in ended:
            self._leave(run)
            if run.outcome is Outcome.OVER_BUDGET:
                raise OutOfMoney(run.error)

    def _commit(self, wave: Wave) -> None:
        changes: dict[str, Any] = {"worked_seconds": self.worked_seconds}
        if wave.events:
            changes["crashes"] = 0  # it gets on: only deaths without anything between them count
        if wave.cost:
            changes["cost"] = F("cost") + wave.cost
        self.lease.commit(lambda: wave.save(self.execution), **changes)
        crashpoints.reached("wave_committed")
        self._place = wave.place
        for entry in wave.entries:
            entry.run.has_row = True
            entry.run.passed = entry.count
            self._telling.note(entry.run, entry.status)
        for event in wave.events:
            self.state.apply(event)
        self._telling.tell()

    def _leave(self, run: NodeRun) -> None:
        """After the commit: nobody is at it any more."""
        self.at_work.pop(run.id, None)
        self._lineup.leave(run)
        if (call := self._calls.pop(run.id, None)) is not None:
            call.answer(run)
        elif run.outcome is Outcome.PARKED:
            self.aside.put(run)

    # --- tools ------------------------------------------------------------------------------------

    def _answer(self, call: Call) -> None:
        """Run a node that an orchestrator calls; what finished in an earlier attempt is answered from its row."""
        node = self.state.plan.nodes[call.node_id]
        record = self._records.pop(call.id, None)
        inputs = {**node.values, **self.state.static_values(node), **call.arguments}
        left, caller_id = left_by(record), call.caller.id
        run = NodeRun(id=call.id, node=node, inputs=inputs, scope=self.scope, caller_id=caller_id, **left)
        if record is not None and record.status in rows.ENDED:
            run.outcome = Outcome.COMPLETED if record.status == Status.COMPLETED else Outcome.FAILED
            run.error = record.error
            call.answer(run)
            return
        self._calls[run.id] = call
        self._start([run])

    # --- looking around ---------------------------------------------------------------------------

    def _look_around(self) -> None:
        """Once a second: long runs and new outputs become visible, and what was put aside may go on."""
        if time.monotonic() - self._looked_at < limits.EXECUTION_TICK_SECONDS:
            return
        self._looked_at = time.monotonic()
        self._write_down([run for run in self.at_work.values() if not run.has_row])
        self._write_outputs()
        for run in self.at_work.values():
            if run.progress or run.message:
                self._telling.note(run, Status.RUNNING)
        self._telling.tell()
        self._listen()

    def _write_outputs(self) -> None:
        """Those who watch, and a parent that waits, see outputs while the rest goes on."""
        count = sum(map(len, self.state.outputs.values()))
        if not self._output_pace.is_due(count, time.monotonic()):
            return
        self.lease.commit(lambda: None, **self.progress())
        log.nudge(self.execution.pk)

    def _listen(self) -> None:
        """Has somebody called, or has the execution that wanted this one ended?"""
        facts = Execution.objects.values_list("wakes", "parent__execution__status")
        wakes, parent_status = persist(lambda: facts.get(pk=self.execution.pk))
        if parent_status in Execution.TERMINAL:
            self.lease.stop.set(StopReason.CANCELLED)
        called, self._seen_wakes = wakes != self._seen_wakes, wakes
        if self.aside:
            self._bring_back(called=called)

    # --- what waits -------------------------------------------------------------------------------

    def _restore_aside(self) -> None:
        """Put aside what an earlier attempt had put aside, except what can go on by now."""
        for key, run in list(self.state.ready.items()):
            record = self._records.get(run_id(self.execution.pk, key))
            if record is not None and record.waits_for:
                del self.state.ready[key]
                self.aside.put(self._make(run))
        if self.aside:
            self._bring_back(called=True)

    def _bring_back(self, *, called: bool) -> None:
        for run in persist(lambda: self.aside.take_due(called=called)):
            assert run.key is not None, "a run that was called is not put aside, whoever called it is"
            self.state.ready[run.key] = Run(run.key, run.inputs)
            self._records[run.id] = record_of(run)

    def _put_aside(self) -> bool:
        """Free the worker until what is waited for has happened; False when it has, on the way."""
        changes = self.aside.changes()
        asks = changes.get("status") == Execution.WAITING
        try:
            self.lease.put_aside(lambda: self._before_waiting(asks), **self.progress(), **changes)
        except Woken:
            self._listen()
            return False
        self.execution.status = changes.get("status", Execution.RUNNING)
        self._telling.tell(at_once=True)
        log.nudge(self.execution.pk)
        return True

    def _before_waiting(self, asks: bool) -> None:
        """Inside the commit, which holds the row: whoever calls comes before it, or finds the execution waiting."""
        if Execution.objects.values_list("wakes", flat=True).get(pk=self.execution.pk) != self._seen_wakes:
            raise Woken
        if asks and self.execution.parent is not None:
            wake(self.execution.parent.execution_id)  # it waits for a person now, too

    # --- ending early -----------------------------------------------------------------------------

    def end(self, status: str, *, reason: str, error: str) -> None:
        """End the execution while runs may be at work: they are told to stop and get a moment to do so."""
        self._stop_runs()
        wave = Wave(self._place, self.lease.attempt)
        for run in self.inbox.take_ended():
            if run.outcome in (Outcome.COMPLETED, Outcome.FAILED) and run.id in self.at_work:
                wave.end(self.at_work.pop(run.id))
        for run in self.at_work.values():
            run.closed = True
            run.ended_at = run.ended_at or current_time()
            run.seconds = run.seconds or time.monotonic() - run.began
            wave.cut_off(run)
        self.lease.finish(
            status,
            reason=reason,
            error=error,
            work=lambda: wave.save(self.execution),
            cost=F("cost") + wave.cost,
            **self.progress(),
        )

    def _stop_runs(self) -> None:
        for run in self.at_work.values():
            run.stop.set(self.lease.stop.reason or StopReason.CANCELLED)
        if self.at_work:
            self.inbox.wait(limits.NODE_STOP_SECONDS, enough=len(self.at_work))

    def let_go(self) -> None:
        """Nothing that still runs is waited for, and nothing it says counts."""
        for run in self.at_work.values():
            run.closed = True
            run.stop.set(self.lease.stop.reason or StopReason.LOST)


def needs_row(run: NodeRun) -> bool:
    """What has effects is written down before it begins; what only computes is written down when it has ended."""
    block = run.node.block
    return block.effects is not Effects.PURE or block.sensitive or bool(block.cost)
