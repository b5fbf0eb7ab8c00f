"""Run long-running tools on the operations queue."""

from __future__ import annotations

import json
import logging
import math
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar, assert_never

from django.db import InterfaceError, OperationalError

from boundary import taint
from durable import crashpoints
from durable.errors import DurableError, HandOver, LeaseLost
from durable.lease import Lease
from durable.stop_signal import StopReason
from tools import arguments, limits, toolset
from tools.base import Effect, Handle, OutsideAnswer, ToolResult
from tools.context import WatchedExecution
from tools.errors import (
    AcceptedElsewhere,
    GoesOnElsewhere,
    Interrupted,
    ToolCancelled,
    ToolError,
    ToolOutcome,
    ToolTimedOut,
)
from tools.journal import CallScope, FinishedCall
from tools.models import Operation, ToolCall
from tools.operations import decisions, held
from tools.operations.context import OperationContext
from tools.operations.lifecycle import notify_changed
from tools.operations.start import ACCEPTED
from tools.permissions import Permissions
from tools.running_call import CallOutcome, Crashed, RunningCall, StepInbox

logger = logging.getLogger(__name__)
T = TypeVar("T")


def run(lease: Lease) -> None:
    """Run one operation. May run again after a crash: the tool's effect decides what is repeated."""
    operation = Operation.objects.get(pk=lease.job_id)
    notify_changed(operation)
    OperationAttempt(operation, lease).run()


class OperationAttempt:
    """One attempt at one operation."""

    def __init__(self, operation: Operation, lease: Lease) -> None:
        self.operation = operation
        self.lease = lease
        self.inbox = StepInbox()

    def run(self) -> None:
        """End the operation or suspend it; raises only LeaseLost, HandOver and database errors."""
        try:
            if self.waits_for_person() or self.waits_for_outside():
                return None
            call = self.prepare()
            self.begin()
            outcome = self.outcome_of(call)
        except ToolOutcome as error:
            return self.end(CallOutcome.of(error, self.operation.session_id))
        except (DurableError, OperationalError, InterfaceError):
            raise
        except Exception:  # the task's boundary: an unknown error ends the operation visibly and is logged
            logger.exception("operation failed", extra=self.operation.log_context())
            return self.end(CallOutcome.of(Crashed(), self.operation.session_id))
        crashpoints.reached("operation_worked")
        if call.elsewhere is not None and call.stopped_by is None:
            return self.follow_later(call.elsewhere)
        if call.accepted is not None and call.stopped_by is None:
            return self.accept(call.accepted)
        return self.end(outcome)

    # --- preparing --------------------------------------------------------------------------------

    def prepare(self) -> OperationCall:
        """Return the call ready to run; raises ToolOutcome when it must not run."""
        operation = self.operation
        if self.lease.stop.reason is StopReason.CANCELLED:
            raise ToolCancelled("The operation was cancelled.")
        tool = toolset.find(operation.tool_name, operation.user_id)
        if tool is None:
            raise ToolError(f"The tool {operation.tool_name!r} no longer exists.", code="unknown_tool")
        is_looking = operation.handle is not None and operation.handle.get("looks", True)
        if operation.begun and tool.effect is Effect.FOREIGN and not is_looking:
            raise Interrupted(
                f"{tool.name} was interrupted while it ran, so it may or may not have happened. It was not repeated."
            )
        call = OperationCall(
            tool=tool,
            args=arguments.validate(tool, operation.arguments),
            arguments=operation.arguments,
            scope=CallScope(
                user_id=operation.user_id,
                session_id=operation.session_id,
                turn_id=operation.turn_id,
                step=operation.step,
                attempt=self.lease.attempt,
                permissions=Permissions.parse(operation.permissions),
                cancelled=self.lease.stop,
                outside_sources=tuple(operation.outside_sources),
            ),
            call_id=operation.call_id,
            key=operation.key,
            index=0,
            recorded=True,
            in_doubt=operation.begun,
            answer=OutsideAnswer.parse(operation.outside_answer) if operation.outside_answer else None,
            handle=self.handle(),
            journal=Progress(operation, self.lease),
            inbox=self.inbox,
        )
        call.context = OperationContext(
            **{name: getattr(call.context, name) for name in call.context.__dataclass_fields__},
            operation_id=operation.pk,
            task_id=operation.task_id,
        )
        return call

    def begin(self) -> None:
        """Record the start: from here on a crash leaves the operation in doubt, never unknown."""
        self.lease.commit(lambda: None, begun=True)
        crashpoints.reached("operation_begun")

    # --- running ----------------------------------------------------------------------------------

    def outcome_of(self, call: OperationCall) -> CallOutcome:
        stop_listening = self.lease.stop.add_callback(self.inbox.wake)
        call.start()
        try:
            while True:
                self.pass_on_stops(call)
                wake_at = call.give_up_at if call.stopped_by else call.context.deadline
                ended = self.inbox.next(wake_at - time.monotonic())
                if ended is not None:
                    return ended[1]
                if call.stopped_by is not None and time.monotonic() >= call.give_up_at:
                    logger.warning("A tool did not stop in time", extra=self.operation.log_context())
                    return CallOutcome.of(call.stopped_by, self.operation.session_id)
        finally:
            stop_listening()
            call.stop.set(self.lease.stop.reason or StopReason.LOST)
            call.close()

    def pass_on_stops(self, call: OperationCall) -> None:
        match self.lease.stop.reason:
            case None:
                pass
            case StopReason.LOST:
                raise LeaseLost
            case StopReason.HAND_OVER:
                raise HandOver
            case StopReason.CANCELLED | StopReason.TIMED_OUT as reason:
                call.request_stop(ToolCancelled("The operation was cancelled."), reason)
            case never:
                assert_never(never)
        if time.monotonic() >= call.context.deadline:
            text = f"{call.tool.name} was stopped after {call.tool.cap_seconds:.0f} seconds, its time limit."
            call.request_stop(ToolTimedOut(text), StopReason.TIMED_OUT)

    # --- waiting ----------------------------------------------------------------------------------

    def handle(self) -> Handle | None:
        """Return the work that goes on elsewhere, with what a person has answered to its last question."""
        operation = self.operation
        if operation.handle is None:
            return None
        return Handle(data=operation.handle, answer=held.answer_to(operation))

    def waits_for_person(self) -> bool:
        """Suspend the operation and return True while a person has not decided. Raises ToolError after a refusal."""
        operation = self.operation
        if operation.review_id is None or self.lease.stop.reason is StopReason.CANCELLED:
            return False
        answer = held.answer_to(operation)
        if answer is None:
            self.lease.wait_until_due(limits.MAX_APPROVAL_SECONDS)
            return True
        if not answer.approved and operation.handle is None:
            raise ToolError(f"{decisions.REJECTED} {answer.message}".strip(), code=decisions.NOT_APPROVED)
        return False

    def follow_later(self, elsewhere: GoesOnElsewhere) -> None:
        """Free the worker until the work elsewhere is looked at again, or a person has answered its question."""
        operation, question = self.operation, elsewhere.question
        if (self.lease.now() - operation.queued_at).total_seconds() > limits.MAX_FOLLOWED_SECONDS:
            late = ToolTimedOut(f"{operation.tool_name} went on for too long, so it is followed no further.")
            self.end(CallOutcome.of(late, operation.session_id))
            return
        operation.handle = elsewhere.handle
        changes: dict[str, Any] = {
            "handle": elsewhere.handle,
            "external": True,
            "begun": False,
            "message": elsewhere.message,
            "review_id": None,
        }
        if question is None:
            self.lease.wait_until_due(elsewhere.seconds, **changes)
        else:
            key = held.question_key(operation, elsewhere.handle)
            changes["review_id"] = held.review_id_for(key)
            seconds = limits.MAX_APPROVAL_SECONDS
            self.lease.wait_until_due(
                seconds + 60, work=lambda: held.ask(operation, question, key, seconds), **changes
            )
        self.operation.refresh_from_db()
        notify_changed(self.operation)

    # --- ending -----------------------------------------------------------------------------------

    def end(self, outcome: CallOutcome) -> None:
        """Save the result, and in the same transaction what the tool wants saved with it."""
        try:
            self.finish(outcome)
        except (DurableError, OperationalError, InterfaceError):
            raise
        except Exception:  # in the tool's own work: the operation fails visibly
            logger.exception("An operation's result could not be saved", extra=self.operation.log_context())
            self.finish(CallOutcome.of(Crashed(), self.operation.session_id))

    def finish(self, outcome: CallOutcome) -> None:
        message = str(outcome.output.get("message", ""))
        changes: dict[str, Any] = {
            "completed_by": self.operation.completed_by or "worker",
            "message": message,
            "outside_answer": None,  # no longer needed, and may contain anything
            "outside_sources": list(taint.merge(self.operation.outside_sources, outcome.sources)),
        }
        if outcome.state == ToolCall.State.SUCCEEDED:
            status, reason, error = Operation.COMPLETED, "done", ""
            changes |= {"result": outcome.output, "progress": 1.0}
        else:
            asked = self.lease.stop.reason is StopReason.CANCELLED
            cancelled = asked and outcome.state == ToolCall.State.CANCELLED
            status = Operation.CANCELLED if cancelled else Operation.FAILED
            reason, error = str(outcome.output.get("error") or "failed")[:32], message
            if outcome.output.keys() - PLAIN_REPLY:
                changes["result"] = outcome.output  # more than a sentence, such as partial work

        def work() -> None:
            for piece in outcome.works:
                piece()

        self.lease.finish(status, reason=reason, error=error, work=work, **changes)

    def accept(self, accepted: AcceptedElsewhere) -> None:
        """Suspend the operation until the outside service answers; if it has answered already, the lease is lost."""
        seconds = min(accepted.wait_seconds, limits.MAX_OUTSIDE_ANSWER_SECONDS)
        self.lease.wait_until_due(
            seconds,
            work=self.show_accepted,
            external=True,
            message=accepted.message,
            answer_due_at=Operation.clock.after(seconds),
        )
        self.operation.refresh_from_db()
        notify_changed(self.operation)

    def show_accepted(self) -> None:
        """Show the new status in the pending tool result too."""
        calls = ToolCall.objects.filter(key=self.operation.key)
        for pending in calls.values_list("result", flat=True):
            calls.update(result=(pending or {}) | {"status": ACCEPTED})

    def waits_for_outside(self) -> bool:
        """Suspend the operation and return True while an outside service has time left to answer.

        After its deadline the tool receives a late answer instead.
        """
        operation = self.operation
        cancelled = self.lease.stop.reason is StopReason.CANCELLED
        if cancelled or not operation.external or operation.outside_answer is not None:
            return False
        if operation.handle is not None:
            return False  # it is asked how far it is
        due_at = operation.answer_due_at
        left = (due_at - self.lease.now()).total_seconds() if due_at else 0.0
        if left > 0:
            self.lease.wait_until_due(left)
            return True
        late = OutsideAnswer(success=False, late=True)
        tool = toolset.find(operation.tool_name, operation.user_id)
        if tool is None or tool.receive is None or operation.for_client:
            late.unwrap()
        operation.outside_answer, operation.begun = late.as_json(), False
        self.lease.commit(lambda: None, outside_answer=operation.outside_answer, begun=False)
        return False


@dataclass(kw_only=True, eq=False)
class OperationCall(RunningCall):
    """A call that an outside service may take over and answer later."""

    answer: OutsideAnswer | None = None
    accepted: AcceptedElsewhere | None = None
    handle: Handle | None = None
    elsewhere: GoesOnElsewhere | None = None

    def _call(self) -> ToolResult:
        if self.handle is not None:
            if self.tool.follow is None:
                raise ToolError(f"{self.tool.name} can no longer follow work that goes on elsewhere.")
            return self.tool.follow(self.args, self.handle, self.context)
        if self.answer is None:
            return super()._call()
        if self.tool.receive is None:
            raise ToolError(f"{self.tool.name} no longer accepts answers from an outside service.")
        return self.tool.receive(self.args, self.answer, self.context)

    def _goes_on(self, elsewhere: GoesOnElsewhere) -> CallOutcome:
        self.elsewhere = elsewhere
        return self._failed(elsewhere)

    def _failed(self, error: ToolOutcome) -> CallOutcome:
        if isinstance(error, AcceptedElsewhere):
            if self.answer is not None:
                error = ToolError(
                    f"{self.tool.name} handed over work that an outside service had already answered."
                )
            else:
                self.accepted = error
        return super()._failed(error)


PLAIN_REPLY = frozenset({"type", "message", "next_step", "error", "session_id", "may_have_happened"})


class Progress:
    """Implements `tools.journal.Journal` for an operation: progress is stored in its row and pushed to clients."""

    def __init__(self, operation: Operation, lease: Lease) -> None:
        self._operation = operation
        self._lease = lease
        self._stored_at = -math.inf

    def commit(self, work: Callable[[], T], *, finished: FinishedCall | None = None) -> T:
        return self._lease.commit(work)

    def watched(self, execution: WatchedExecution) -> None:
        """Do nothing: clients of an operation see its progress, and executions report themselves."""

    def waiting(self, key: str, job_id: uuid.UUID | None) -> AbstractContextManager[None]:
        """Do nothing: an operation takes no slot among the user's turns."""
        return nullcontext()

    def progress(self, call_id: str, name: str, output: dict[str, Any]) -> None:
        """Store the progress, fenced by the attempt; too frequent or failed writes are skipped."""
        now = time.monotonic()
        if now - self._stored_at < limits.OPERATION_PROGRESS_GAP_SECONDS:
            return
        self._stored_at = now
        share, message = output.get("progress"), output.get("message")
        if isinstance(share, int | float) and math.isfinite(share):
            self._operation.progress = share
        self._operation.message = message if isinstance(message, str) else json.dumps(message)
        mine = Operation.objects.filter(
            pk=self._operation.pk, attempt=self._lease.attempt, status=Operation.RUNNING
        )
        try:
            kept = mine.update(progress=self._operation.progress, message=self._operation.message)
        except (OperationalError, InterfaceError) as error:
            logger.warning("Progress was not stored: %s", error)
            return
        if not kept:
            raise LeaseLost
        self._operation.status = Operation.RUNNING
        notify_changed(self._operation)
