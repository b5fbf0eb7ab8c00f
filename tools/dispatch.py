"""Run the tool calls of one step in parallel, each recorded before and after."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, assert_never

from django.db import InterfaceError, OperationalError, close_old_connections
from django.db.models.functions import Now

from durable import crashpoints, storable
from durable.clock import current_time
from durable.errors import HandOver, LeaseLost
from durable.stop_signal import StopReason
from llm.types import ToolCallRequest
from tools import approvals, arguments, limits, preconditions, registry, toolset
from tools.arguments import InvalidArguments
from tools.base import Effect, Tool
from tools.errors import Interrupted, ModelRetry, ToolCancelled, ToolError, ToolOutcome, ToolTimedOut
from tools.journal import CallScope, FinishedCall, Journal
from tools.models import ToolCall, call_key, calls_of
from tools.operations.held import hold
from tools.operations.start import start
from tools.policies import Rules, rules_for
from tools.running_call import UNREPEATABLE, CallOutcome, Crashed, RunningCall, StepInbox, find_running

__all__ = ["CallScope", "FinishedCall", "Journal", "cancel_call", "run_calls"]

log = logging.getLogger(__name__)

MAX_KEPT_TEXT = 10_000  # of arguments that could not be parsed
MAX_KEPT_NAME = 128
DATABASE_AWAY = (OperationalError, InterfaceError)  # handled by the owner of the turn, not shown to the model


def run_calls(calls: Sequence[ToolCallRequest], scope: CallScope, journal: Journal) -> list[FinishedCall]:
    """Run all calls of one step in parallel and return their results in the order of the calls.

    Called again for the same step after a crash, it repeats nothing that finished: the key of a call is turn, step
    and call id. Every result passes through `journal.commit(finished=...)` once per run.
    """
    step = _Step(scope, journal)
    remove_callback = scope.cancelled.add_callback(step.inbox.wake)
    try:
        step.plan(calls)
        step.write_intents()
        step.run()
    finally:
        remove_callback()
        step.abandon()
    return [step.finished[call_key(scope.turn_id, scope.step, call.id)] for call in calls]


def cancel_call(key: str) -> bool:
    """Cancel one call while its turn continues; False when it is not running. Idempotent."""
    open_states = [ToolCall.State.PENDING, ToolCall.State.STARTED]
    found = ToolCall.objects.filter(key=key, state__in=open_states).update(cancel_requested_at=Now())
    call = find_running(key)
    if call is not None:
        call.cancel_requested = True
        call.inbox.wake()
    return bool(found)


class _Step:
    """The calls of one step, from request to result."""

    def __init__(self, scope: CallScope, journal: Journal) -> None:
        self.scope = scope
        self.journal = journal
        self.inbox = StepInbox()
        self.running: list[RunningCall] = []
        self.finished: dict[str, FinishedCall] = {}
        self.next_check_at = time.monotonic() + limits.TOOL_CANCEL_CHECK_SECONDS

    # --- planning ---------------------------------------------------------------------------------

    def plan(self, calls: Sequence[ToolCallRequest]) -> None:
        """Decide for each call: finished already, refused, or to be run."""
        rows = {row.key: row for row in calls_of(self.scope.turn_id, self.scope.step)}
        close_old_connections()
        uses = Counter(call.id for call in calls)
        for index, call in enumerate(calls):
            key = call_key(self.scope.turn_id, self.scope.step, call.id)
            row = rows.get(key)
            if key in self.finished:
                continue
            if row is not None and row.is_finished:
                self._replay(row, call)
                continue
            planned = _Planned(call, index, key, row)
            try:
                if uses[call.id] > 1:
                    raise InvalidArguments(
                        f"Several calls of this step have the id {call.id[:100]!r}, so none of them was run."
                    )
                if index >= limits.MAX_CALLS_PER_STEP:
                    raise ModelRetry(
                        f"At most {limits.MAX_CALLS_PER_STEP} calls are allowed in one step, so this one was not run."
                    )
                admitted = self._admit(planned)
            except approvals.CallHeld as held:
                self._hold(planned, held)
            except ToolOutcome as error:
                self._refuse(planned, error)
            except DATABASE_AWAY:
                raise
            except Exception:
                log.exception("A tool call could not be prepared", extra={"tool": call.name, "call": key})
                self._refuse(planned, Crashed())
            else:
                self._take(planned, admitted)

    def _take(self, planned: _Planned, call: RunningCall) -> None:
        """Queue the call to run with the others; a long-running tool is started and answered at once."""
        if not call.tool.long_running:
            self.running.append(call)
            return
        started = start(call.tool, call.arguments, call.context)
        state = ToolCall.State.SUCCEEDED
        self._answer(planned, CallOutcome(state=state, output=started.answer, works=(started.save,)))
        crashpoints.reached("operation_started")
        started.after_commit()

    def _hold(self, planned: _Planned, held: approvals.CallHeld) -> None:
        """Answer the call with a question; an operation runs it once a person has approved."""
        assert planned.running is not None
        call = planned.running
        waiting = hold(call.tool, call.arguments, call.context, held.question)
        state = ToolCall.State.SUCCEEDED
        self._answer(planned, CallOutcome(state=state, output=waiting.answer, works=(waiting.save,)))
        crashpoints.reached("call_held")

    def _admit(self, planned: _Planned) -> RunningCall:
        """Return the call ready to run; raises ToolOutcome when it must not run."""
        planned.arguments = storable.nearest_json(arguments.parse(planned.call.arguments))
        tool = planned.tool = self._tool(planned)
        planned.refuse_if_stopped(self.scope)
        if planned.in_doubt and tool.effect is Effect.FOREIGN:
            raise Interrupted(
                f"{tool.name} was interrupted while it ran, so it may or may not have happened. It was not repeated."
            )
        args = arguments.validate(tool, planned.arguments)
        call = RunningCall(
            tool=tool,
            args=args,
            arguments=planned.arguments,
            scope=self.scope,
            call_id=planned.call.id,
            key=planned.key,
            index=planned.index,
            recorded=planned.row is not None,
            in_doubt=planned.in_doubt,
            journal=self.journal,
            inbox=self.inbox,
        )
        preconditions.check(tool, call.context)
        planned.running = call
        if not planned.in_doubt:  # a call that had started was not held
            approvals.check_call(call, self.rules.of(tool))
        return call

    @cached_property
    def rules(self) -> Rules:
        return rules_for(self.scope.user_id, self.scope.session_id)

    def _tool(self, planned: _Planned) -> Tool:
        """Return the tool that is called; a call of `call_tool` becomes the call of the tool that it names."""
        name = planned.call.name
        if name in self.scope.client_tools:
            return self.scope.client_tools[name]
        assert planned.arguments is not None
        if name == toolset.CALL_TOOL:
            name, planned.arguments = toolset.named_call(planned.arguments)
        tool = toolset.find(name, self.scope.user_id)
        if tool is None:
            close = ", ".join(registry.current().similar(name))
            hint = f" Did you mean {close}?" if close else ""
            raise ToolError(f"There is no tool named {name[:100]!r}.{hint}", code="unknown_tool")
        return tool

    def _replay(self, row: ToolCall, call: ToolCallRequest) -> None:
        """Show the result of a call that finished before a crash again."""
        finished = FinishedCall.of(row, call_id=call.id)
        self.journal.commit(lambda: None, finished=finished)
        self.finished[row.key] = finished

    def _refuse(self, planned: _Planned, error: ToolOutcome) -> None:
        """Answer a call without running it."""
        self._answer(planned, CallOutcome.of(error, self.scope.session_id))

    def _answer(self, planned: _Planned, outcome: CallOutcome) -> None:
        finished = planned.finished(outcome)
        now = current_time()

        def write() -> None:
            for work in outcome.works:
                work()
            ToolCall.objects.update_or_create(
                key=planned.key,
                defaults=_result_fields(outcome) | {"attempt": self.scope.attempt},
                create_defaults=planned.fields(self.scope) | _result_fields(outcome) | {"started_at": now},
            )

        self.journal.commit(write, finished=finished)
        self.finished[planned.key] = finished

    # --- recording intents ------------------------------------------------------------------------

    def write_intents(self) -> None:
        """Record all calls in one transaction: from here on a crash leaves them in doubt, never unknown."""
        if not self.running:
            return
        self.journal.commit(self._save_intents)
        crashpoints.reached("after_intent")

    def _save_intents(self) -> None:
        now = current_time()
        started = {"state": ToolCall.State.STARTED, "attempt": self.scope.attempt, "started_at": now}
        known = [call.key for call in self.running if call.recorded]
        if known:
            ToolCall.objects.filter(key__in=known).update(**started)
        ToolCall.objects.bulk_create(
            ToolCall(
                key=call.key,
                turn_id=self.scope.turn_id,
                session_id=self.scope.session_id,
                user_id=self.scope.user_id,
                step=self.scope.step,
                index=call.index,
                call_id=storable.text(call.call_id),
                name=call.tool.name,
                arguments=call.arguments,
                effect=call.tool.effect,
                **started,
            )
            for call in self.running
            if not call.recorded
        )

    # --- running ------------------------------------------------------------------------------------

    def run(self) -> None:
        for call in self.running:
            call.start()
        while self.running:
            self._pass_on_stops()
            ended = self.inbox.next(self._next_wake_at() - time.monotonic())
            if ended is not None:
                self._end(*ended)
            self._end_unresponsive()

    def abandon(self) -> None:
        """Stop every call that still runs, and ignore what it does from now on."""
        for call in self.running:
            call.stop.set(self.scope.cancelled.reason or StopReason.LOST)
            call.close()

    def _pass_on_stops(self) -> None:
        """Stop the calls that the turn, a person or a deadline wants stopped; raises LeaseLost or HandOver."""
        match self.scope.cancelled.reason:
            case None:
                pass
            case StopReason.LOST:
                raise LeaseLost
            case StopReason.HAND_OVER:
                raise HandOver
            case StopReason.CANCELLED | StopReason.TIMED_OUT as reason:
                for call in self.running:
                    call.request_stop(ToolCancelled("The turn was stopped while the call ran."), reason)
            case never:
                assert_never(never)
        now = time.monotonic()
        requested = self._requested_cancels(now)
        for call in self.running:
            if call.cancel_requested or call.key in requested:
                call.request_stop(
                    ToolCancelled(
                        "The call was stopped by the user.", next_step="Continue without it, or ask them why."
                    )
                )
            elif now >= call.context.deadline:
                text = (
                    f"{call.tool.name} was stopped after {call.tool.cap_seconds:.0f} seconds, its time limit."
                )
                call.request_stop(ToolTimedOut(text), StopReason.TIMED_OUT)

    def _requested_cancels(self, now: float) -> set[str]:
        """Return the keys of calls that another process wants cancelled; queries about once a second."""
        if now < self.next_check_at:
            return set()
        self.next_check_at = now + limits.TOOL_CANCEL_CHECK_SECONDS
        asked = calls_of(self.scope.turn_id, self.scope.step).filter(cancel_requested_at__isnull=False)
        keys = set(asked.values_list("key", flat=True))
        close_old_connections()
        return keys

    def _next_wake_at(self) -> float:
        ends = [call.give_up_at if call.stopped_by else call.context.deadline for call in self.running]
        return min(self.next_check_at, *ends)

    def _end_unresponsive(self) -> None:
        """End the calls whose tools ignore the stop signal."""
        now = time.monotonic()
        for call in [call for call in self.running if call.stopped_by is not None and now >= call.give_up_at]:
            assert call.stopped_by is not None
            log.warning("A tool did not stop in time", extra={"tool": call.tool.name, "call": call.key})
            self._end(call, CallOutcome.of(call.stopped_by, self.scope.session_id))

    # --- recording results --------------------------------------------------------------------------

    def _end(self, call: RunningCall, outcome: CallOutcome) -> None:
        """Save and show one call's result. The late result of an abandoned call is dropped."""
        if call not in self.running:
            return
        crashpoints.reached("after_effect")
        call.close()
        try:
            finished = self._save(call, outcome)
        except _WorkFailed as error:
            log.error(
                "A tool's result could not be saved", exc_info=error.__cause__, extra={"call": call.key}
            )
            finished = self._save(call, CallOutcome.of(Crashed(), self.scope.session_id))
        self.running.remove(call)
        self.finished[call.key] = finished
        crashpoints.reached("after_result")

    def _save(self, call: RunningCall, outcome: CallOutcome) -> FinishedCall:
        finished = FinishedCall(
            call_id=call.call_id,
            name=call.tool.name,
            arguments=call.arguments,
            state=outcome.state,
            output=outcome.output,
            error_text=outcome.error_text,
            sources=outcome.sources,
        )

        def write() -> None:
            for work in outcome.works:
                _run_work(work)
            ToolCall.objects.filter(key=call.key, state=ToolCall.State.STARTED).update(
                **_result_fields(outcome)
            )

        self.journal.commit(write, finished=finished)
        return finished


class _Planned:
    """A requested call, parsed as far as possible."""

    def __init__(self, call: ToolCallRequest, index: int, key: str, row: ToolCall | None) -> None:
        self.call = call
        self.index = index
        self.key = key
        self.row = row
        self.in_doubt = row is not None and row.state == ToolCall.State.STARTED
        self.arguments: dict[str, Any] | None = None
        self.tool: Tool | None = None
        self.running: RunningCall | None = None

    def refuse_if_stopped(self, scope: CallScope) -> None:
        """Raise ToolCancelled when the call or its turn was stopped, whether or not it had started."""
        asked = self.row is not None and self.row.cancel_requested_at is not None
        if not asked and scope.cancelled.reason not in (StopReason.CANCELLED, StopReason.TIMED_OUT):
            return
        assert self.tool is not None
        if self.in_doubt and self.tool.effect in UNREPEATABLE:
            raise ToolCancelled("The call was stopped. It may have happened.", may_have_happened=True)
        raise ToolCancelled("The call was stopped before it ran.")

    @property
    def shown_arguments(self) -> dict[str, Any] | str:
        if self.arguments is not None:
            return self.arguments
        return storable.text(self.call.arguments, most=MAX_KEPT_TEXT)

    @property
    def name(self) -> str:
        return storable.text(self.call.name, most=MAX_KEPT_NAME)

    def fields(self, scope: CallScope) -> dict[str, Any]:
        return {
            "turn_id": scope.turn_id,
            "session_id": scope.session_id,
            "user_id": scope.user_id,
            "step": scope.step,
            "index": self.index,
            "call_id": storable.text(self.call.id),
            "name": self.name,
            "arguments": self.shown_arguments,
            "effect": self.tool.effect if self.tool else Effect.PURE,
            "attempt": scope.attempt,
        }

    def finished(self, outcome: CallOutcome) -> FinishedCall:
        return FinishedCall(
            call_id=self.call.id,
            name=storable.text(self.call.name),
            arguments=self.shown_arguments,
            state=outcome.state,
            output=outcome.output,
            error_text=outcome.error_text,
        )


class _WorkFailed(Exception):
    """The work that belongs to a result could not be saved."""


def _run_work(work: Callable[[], object]) -> None:
    try:
        work()
    except DATABASE_AWAY:
        raise
    except Exception as error:
        raise _WorkFailed from error


def _result_fields(outcome: CallOutcome) -> dict[str, Any]:
    return {
        "state": outcome.state,
        "result": outcome.output,
        "error": outcome.error_text or "",
        "ended_at": current_time(),
    }
