"""What the ends of turns, operations and executions mean for the sessions and agents that wait for them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from chat.continuations import queue_turn
from chat.models import Session, Turn
from chat.signals import turn_ended
from chat.sub_sessions import names
from chat.sub_sessions.outcome import newest_task
from chat.sub_sessions.telling import tell_if_over
from durable import bell, jobs
from durable.after_commit import after_commit
from executions.models import Execution, Review
from executions.reviews.signals import review_decided
from executions.signals import execution_ended
from executions.waking import wake
from tools.models import Operation
from tools.operations.signals import operation_ended


def connect() -> None:
    """Called once when Django is set up."""
    turn_ended.connect(after_turn, dispatch_uid="chat.after_turn")
    operation_ended.connect(after_operation, dispatch_uid="chat.after_operation")
    execution_ended.connect(after_execution, dispatch_uid="chat.after_execution")
    review_decided.connect(after_review, dispatch_uid="chat.after_review")


def after_turn(sender: Any, turn: Turn, **kwargs: Any) -> None:
    """A task may be over: whoever wants to hear of it is told, and agents that wait for one look again.

    Only a task's own turn and those in which work comes back to it can end it; all others cost nothing here.
    """
    if turn.kind != Turn.Kind.CONTINUATION and not (turn.client_id or "").startswith(names.TASK):
        return
    tell_if_over(turn.session_id)
    for execution_id in executions_that_asked(turn.session_id):
        wake(execution_id)


def executions_that_asked(session_id: uuid.UUID) -> set[uuid.UUID]:
    """The executions one of whose nodes asked for a turn of this session."""
    asked = Turn.objects.filter(session=session_id, execution_id__isnull=False)
    return {execution_id for execution_id in asked.values_list("execution_id", flat=True) if execution_id}


def after_operation(sender: Any, operation: Operation, **kwargs: Any) -> None:
    """A cancelled one does not come back to its session, whose task may be over with that."""
    if operation.status == Operation.CANCELLED:
        tell_if_over(operation.session_id)


def after_execution(sender: Any, execution: Execution, **kwargs: Any) -> None:
    """The conversation that wants to hear of it is called again, once; turns the agent waited for are stopped."""
    for turn_id in live_turns_of(execution):
        if jobs.request_cancel(Turn, turn_id):
            after_commit(bell.ring, turn_id)
    if not (execution.tell_session and execution.session_id):
        return
    if execution.status == Execution.CANCELLED:
        tell_if_over(execution.session_id)  # whoever cancelled it knows
        return
    queue_turn(
        execution.session_id,
        client_id=f"{names.EXECUTION_CAME_BACK}{execution.pk}",
        note=note_about(execution),
    )


def after_review(sender: Any, review: Review, **kwargs: Any) -> None:
    """A task goes on by itself, since nobody writes in it; in a conversation the person's answer does that."""
    if review.execution_id is not None or review.session_id is None:
        return
    session = Session.objects.filter(pk=review.session_id).first()
    if session is None or not is_at_task(session):
        return
    how = "approved" if review.state == Review.State.APPROVED else "not approved"
    queue_turn(
        review.session_id,
        client_id=f"{names.REVIEW_DECIDED}{review.pk}",
        note=f"What waited for a person here was {how}. Call continue_run_block with review_id={review.pk} to go on, "
        "then finish the task.",
    )


def is_at_task(session: Session) -> bool:
    """Whether what was asked last is a task; one that an agent gave may stand in a person's own conversation."""
    task = newest_task(session)
    return session.depth > 0 or (task is not None and (task.client_id or "").startswith(names.TASK))


def live_turns_of(execution: Execution) -> list[Any]:
    live = Turn.live().filter(execution_id=execution.pk)
    return list(live.values_list("pk", flat=True))


def note_about(execution: Execution) -> str:
    """Words of ours alone: names and outputs of agents are data, and are read with the tool."""
    how = "completed" if execution.status == Execution.COMPLETED else "failed"
    return (
        f"The execution {execution.pk}, started earlier in this conversation, has {how}. "
        f"view_agent_output with execution_id={execution.pk} shows what came of it. "
        "The person has not written anything new: look at it, tell them, and go on where that is needed."
    )


# --- sessions that go ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Who waits for something of a session that is about to be deleted."""

    executions: frozenset[uuid.UUID]
    sessions: frozenset[uuid.UUID]

    def tell_gone(self) -> None:
        """Inside the transaction that deletes it: there is nothing left to wait for."""
        for session_id in self.sessions:
            tell_if_over(session_id)
        for execution_id in self.executions:
            wake(execution_id)


def who_waits_for(session: Session) -> Waiting:
    untold = session.turns.filter(told_at=None).values_list("tell_session", flat=True).distinct()
    return Waiting(
        executions=frozenset(executions_that_asked(session.pk)),
        sessions=frozenset(session_id for session_id in untold if session_id is not None),
    )
