"""Executions in tool results: how they are shown, and how tools wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from executions.models import Execution, NodeExecution, Review
from executions.models.status import PublicStatus
from executions.redaction import Secrets, hide, shown_inputs, shown_outputs, shown_pairs
from executions.wait import wait_for_execution
from tools.base import ToolResult
from tools.cards import Card, agent_link
from tools.context import ToolContext, WatchedExecution

MAX_NODES = 50
REMOVED = "The agent is no longer in the library."


class ExecutionCard(Card):
    """One execution in full."""

    execution_id: str
    status: str
    version: int
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    error: str | None = None
    queued_at: str
    started_at: str | None = None
    ended_at: str | None = None
    cost: str
    link: str
    reviews: list[dict[str, Any]] | None = None
    nodes: list[dict[str, Any]] | None = None


class ListedExecution(Card):
    """One execution of a list."""

    execution_id: str
    status: str
    queued_at: str
    ended_at: str | None = None


class AgentOutput(ToolResult):
    type: Literal["agent_output"] = "agent_output"
    agent_name: str
    library_agent_id: str
    library_agent_link: str | None = None
    execution: ExecutionCard
    available_executions: list[ListedExecution] | None = None
    total_executions: int = 1


def output_of(execution: Execution, *, message: str = "", details: bool = False) -> AgentOutput:
    gone = execution.agent.deleted_at is not None
    said = message or describe_status(execution)
    return AgentOutput(
        message=f"{said} {REMOVED}" if gone else said,
        next_step=next_step(execution),
        agent_name=execution.agent.name,
        library_agent_id=str(execution.agent_id),
        library_agent_link=None if gone else agent_link(execution.agent_id),
        execution=card_of(execution, details=details),
    )


def card_of(execution: Execution, *, details: bool = False) -> ExecutionCard:
    return ExecutionCard(
        execution_id=str(execution.pk),
        status=execution.public_status,
        version=execution.version,
        inputs=shown_inputs(execution.inputs, execution.secrets),
        outputs=shown_outputs(execution.outputs, execution.secrets),
        error=error_of(execution) or None,
        queued_at=execution.queued_at.isoformat(),
        started_at=iso(execution.started_at),
        ended_at=iso(execution.ended_at),
        cost=str(execution.cost),
        link=f"/library/runs/{execution.pk}",
        reviews=open_reviews(execution) if execution.public_status == PublicStatus.REVIEW else None,
        nodes=[node_line(node, execution.secrets) for node in nodes_of(execution)] if details else None,
    )


def list_executions(executions: Sequence[Execution]) -> list[ListedExecution]:
    return [
        ListedExecution(
            execution_id=str(row.pk),
            status=row.public_status,
            queued_at=row.queued_at.isoformat(),
            ended_at=iso(row.ended_at),
        )
        for row in executions
    ]


def describe_status(execution: Execution) -> str:
    """Describe the execution's status for people."""
    name = repr(execution.agent.name)
    match execution.public_status:
        case Execution.COMPLETED:
            found = ", ".join(execution.outputs) or "none"
            return f"The agent {name} completed. Outputs: {found}."
        case Execution.FAILED:
            return f"The agent {name} failed: {error_of(execution) or 'no reason was given.'}"
        case Execution.CANCELLED:
            reason = error_of(execution)
            return f"The run of the agent {name} was cancelled{f': {reason}' if reason else '.'}"
        case PublicStatus.REVIEW:
            return f"The agent {name} is waiting for a review: approve or reject it to continue."
        case _:
            return f"The agent {name} {'is queued' if execution.status == Execution.QUEUED else 'is still running'}."


def next_step(execution: Execution) -> str:
    """Tell the model what to do about an execution that has not ended; empty for one that has."""
    if execution.is_terminal:
        return ""
    if execution.public_status == PublicStatus.REVIEW:
        return "Tell the user that the review is waiting for them; it is shown to them."
    return f"Check it later with view_agent_output, execution_id={execution.pk}."


def error_of(execution: Execution) -> str:
    return str(hide(execution.error, execution.secrets))


def open_reviews(execution: Execution) -> list[dict[str, Any]]:
    rows = Review.objects.filter(execution=execution, state=Review.State.WAITING).order_by("asked_at")
    return [
        {"review_id": str(row.pk), "question": row.name, "data": row.data, "editable": row.editable}
        for row in rows
    ]


def nodes_of(execution: Execution) -> Sequence[NodeExecution]:
    return list(execution.nodes.order_by("queued_at")[:MAX_NODES])


def node_line(node: NodeExecution, secrets: Secrets) -> dict[str, Any]:
    return {
        "node_id": node.node_id,
        "block_id": node.block_id,
        "status": node.public_status,
        "inputs": shown_inputs(node.inputs, secrets),
        "outputs": shown_pairs(node.outputs, secrets),
        "error": hide(node.error, secrets) or None,
        "started_at": iso(node.started_at),
        "ended_at": iso(node.ended_at),
    }


def iso(value: Any) -> str | None:
    return value.isoformat() if value is not None else None


# --- waiting --------------------------------------------------------------------------------------


def follow_execution(
    execution: Execution, seconds: float, context: ToolContext, *, notify: bool = False
) -> Execution:
    """Wait until the execution has ended or asks for a review, or the time is up; return it as it is then.

    The turn gives up its slot while it waits, and no database connection is held. With `notify`, an execution that
    is still running continues the conversation when it ends.
    """
    with context.waiting():
        found = wait_for_execution(
            execution.pk, seconds, stop=context.cancelled, seen=ExecutionProgress(context).update
        )
    context.stop_if_cancelled()
    if notify and not found.is_terminal and not request_notification(found):
        found = Execution.objects.get(pk=found.pk)
    return Execution.objects.select_related("agent", "user").get(pk=found.pk)


class ExecutionProgress:
    """Shows the progress of the execution to clients that watch the call, whenever it has changed."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._shown: WatchedExecution | None = None

    def update(self, execution: Execution) -> None:
        rows = execution.nodes.order_by("-queued_at").only("node_id", "status", "waits_for")[:MAX_NODES]
        states = {row.node_id: row.public_status for row in reversed(rows)}  # the last run of a node counts
        found = WatchedExecution(id=str(execution.pk), status=execution.public_status, nodes=states)
        if found != self._shown:
            self._shown = found
            self._context.watched(found)


def request_notification(execution: Execution) -> bool:
    """Have the session notified when the execution ends; False when it has ended already."""
    return bool(Execution.live().filter(pk=execution.pk).update(tell_session=True))
