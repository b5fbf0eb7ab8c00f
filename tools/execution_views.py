"""What the model sees of an execution, and the sentence that goes with each status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from executions.models import Execution, NodeExecution, Review
from executions.showing import Secrets, hide, shown_inputs, shown_outputs, shown_pairs
from tools.base import ToolResult
from tools.cards import Card, agent_link

MAX_NODES = 50


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
    """One of several."""

    execution_id: str
    status: str
    queued_at: str
    ended_at: str | None = None


class AgentOutput(ToolResult):
    type: Literal["agent_output"] = "agent_output"
    agent_name: str
    library_agent_id: str
    library_agent_link: str
    execution: ExecutionCard
    available_executions: list[ListedExecution] | None = None
    total_executions: int = 1


def output_of(execution: Execution, *, message: str = "", details: bool = False) -> AgentOutput:
    return AgentOutput(
        message=message or sentence(execution),
        agent_name=execution.agent.name,
        library_agent_id=str(execution.agent_id),
        library_agent_link=agent_link(execution.agent_id),
        execution=card_of(execution, details=details),
    )


def card_of(execution: Execution, *, details: bool = False) -> ExecutionCard:
    return ExecutionCard(
        execution_id=str(execution.pk),
        status=execution.status,
        version=execution.version,
        inputs=shown_inputs(execution.inputs, execution.secrets),
        outputs=shown_outputs(execution.outputs, execution.secrets),
        error=error_of(execution) or None,
        queued_at=execution.queued_at.isoformat(),
        started_at=moment(execution.started_at),
        ended_at=moment(execution.ended_at),
        cost=str(execution.cost),
        link=f"{agent_link(execution.agent_id)}/executions/{execution.pk}",
        reviews=open_reviews(execution) if execution.status == Execution.WAITING else None,
        nodes=[node_line(node, execution.secrets) for node in nodes_of(execution)] if details else None,
    )


def listed(executions: Sequence[Execution]) -> list[ListedExecution]:
    return [
        ListedExecution(
            execution_id=str(row.pk),
            status=row.status,
            queued_at=row.queued_at.isoformat(),
            ended_at=moment(row.ended_at),
        )
        for row in executions
    ]


def sentence(execution: Execution) -> str:
    """How it stands, and what to do about it."""
    name = repr(execution.agent.name)
    match execution.status:
        case Execution.COMPLETED:
            found = ", ".join(execution.outputs) or "none"
            return f"The agent {name} completed. Outputs: {found}."
        case Execution.FAILED:
            return f"The agent {name} failed: {error_of(execution) or 'it gave no reason'}"
        case Execution.CANCELLED:
            return (
                f"The run of the agent {name} was stopped: {error_of(execution) or 'somebody cancelled it'}"
            )
        case Execution.WAITING:
            return (
                f"The agent {name} waits for a person: a review must be approved or rejected before it goes on. "
                "Tell the user; it is shown to them."
            )
        case _:
            doing = "waits for its start" if execution.status == Execution.QUEUED else "is still running"
            return (
                f"The agent {name} {doing}. Look later with view_agent_output, execution_id={execution.pk}."
            )


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
        "status": node.status,
        "inputs": shown_inputs(node.inputs, secrets),
        "outputs": shown_pairs(node.outputs, secrets),
        "error": hide(node.error, secrets) or None,
        "started_at": moment(node.started_at),
        "ended_at": moment(node.ended_at),
    }


def moment(value: Any) -> str | None:
    return value.isoformat() if value is not None else None
