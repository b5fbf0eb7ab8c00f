"""Waiting for an execution from a tool: the turn gives up its place meanwhile, and no database connection is held."""

from __future__ import annotations

from executions.models import Execution
from executions.waiting import wait_for_execution
from tools.context import ToolContext, WatchedExecution
from tools.execution_views import MAX_NODES


def follow(execution: Execution, seconds: float, context: ToolContext, *, notify: bool = False) -> Execution:
    """The execution as it stands when it has ended, asks a person, or the time is over.

    With `notify` one that goes on will tell the conversation of its end; one that ended just now does not.
    """
    with context.waiting():
        found = wait_for_execution(execution.pk, seconds, stop=context.cancelled, seen=Watch(context).look)
    context.stop_if_cancelled()
    if notify and not found.is_terminal and not ask_to_be_told(found):
        found = Execution.objects.get(pk=found.pk)
    return Execution.objects.select_related("agent", "user").get(pk=found.pk)


class Watch:
    """Tells whoever watches the call how far the execution is, whenever that has changed."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._told: WatchedExecution | None = None

    def look(self, execution: Execution) -> None:
        rows = execution.nodes.order_by("-queued_at").values_list("node_id", "status")[:MAX_NODES]
        states = dict(reversed(rows))  # a node that ran again shows its last run
        found = WatchedExecution(id=str(execution.pk), status=execution.status, nodes=states)
        if found != self._told:
            self._told = found
            self._context.watched(found)


def ask_to_be_told(execution: Execution) -> bool:
    """False when it has ended meanwhile, so that nobody waits for a call that never comes."""
    going_on = Execution.live().filter(pk=execution.pk)
    return bool(going_on.update(tell_session=True))
