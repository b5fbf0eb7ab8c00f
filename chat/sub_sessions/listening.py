"""What the ends of turns, operations and executions mean for the sessions and agents that wait for them."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction

from chat.continuations import queue_turn
from chat.models import Turn
from chat.signals import turn_ended
from chat.sub_sessions.telling import tell_if_over
from durable import bell, jobs
from executions.models import Execution
from executions.signals import execution_ended
from executions.waking import wake
from tools.models import Operation
from tools.operations.signals import operation_ended


def connect() -> None:
    """Called once when Django is set up."""
    turn_ended.connect(after_turn, dispatch_uid="chat.after_turn")
    operation_ended.connect(after_operation, dispatch_uid="chat.after_operation")
    execution_ended.connect(after_execution, dispatch_uid="chat.after_execution")


def after_turn(sender: Any, turn: Turn, **kwargs: Any) -> None:
    """A task may be over: whoever wants to hear of it is told, and agents that wait for one look again."""
    if turn.session.depth:
        tell_if_over(turn.session_id)
    asked = Turn.objects.filter(session=turn.session_id).exclude(execution_id=None)
    for execution_id in set(asked.values_list("execution_id", flat=True)):
        if execution_id is not None:
            wake(execution_id)


def after_operation(sender: Any, operation: Operation, **kwargs: Any) -> None:
    """A cancelled one does not come back to its session, whose task may be over with that."""
    if operation.status == Operation.CANCELLED:
        tell_if_over(operation.session_id)


def after_execution(sender: Any, execution: Execution, **kwargs: Any) -> None:
    """The conversation that wants to hear of it is called again, once; turns the agent waited for are stopped."""
    for turn_id in live_turns_of(execution):
        if jobs.request_cancel(Turn, turn_id):
            transaction.on_commit(partial(bell.ring, turn_id), robust=True)
    if not (execution.tell_session and execution.session_id):
        return
    if execution.status == Execution.CANCELLED:
        tell_if_over(execution.session_id)  # whoever cancelled it knows
        return
    queue_turn(execution.session_id, client_id=f"execution:{execution.pk}", note=note_about(execution))


def live_turns_of(execution: Execution) -> list[Any]:
    live = Turn.objects.filter(execution_id=execution.pk).exclude(status__in=Turn.TERMINAL)
    return list(live.values_list("pk", flat=True))


def note_about(execution: Execution) -> str:
    """Words of ours alone: names and outputs of agents are data, and are read with the tool."""
    how = "completed" if execution.status == Execution.COMPLETED else "failed"
    return (
        f"The execution {execution.pk}, started earlier in this conversation, has {how}. "
        f"view_agent_output with execution_id={execution.pk} shows what came of it. "
        "The person has not written anything new: look at it, tell them, and go on where that is needed."
    )
