"""Retry of an execution that failed: a new one that takes over what had finished, and goes on from there.

The rows of finished runs are copied, free of charge, before the new execution can start. Its engine reads them as its
own history, as after a crash, so nothing that finished is run or charged again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping

from blocks.base import BlockType, Effects
from blocks.registry import get_registry
from blocks.schema import JSON
from durable.clock import current_time
from durable.database import in_transaction
from executions.drafts.draft_runs import version_of
from executions.drafts.errors import NoFailedNode
from executions.engine.dataflow import RunKey
from executions.engine.errors import EngineError
from executions.engine.node_rows import BATCH, run_id
from executions.engine.node_run import INTERRUPTED
from executions.engine.plan import Plan, PlannedNode, make_plan
from executions.execution_graph import graph_of
from executions.graph import Graph, parse_graph
from executions.models import AgentDraft, Execution, NodeExecution
from executions.models.status import Status
from executions.start import ExecutionRequest, Started, by_client_id, start

CUT_OFF = frozenset({Status.TERMINATED, Status.RUNNING})
COPIED = ("node_id", "block_id", "run", "early", "inputs", "outputs", "error", "progress")
COPIED_TIMES = ("queued_at", "started_at", "ended_at")


@in_transaction
def retry(execution: Execution, *, client_id: str | None = None, with_draft: bool = False) -> Started:
    """Start an execution that goes on where another one failed. Once per client_id.

    With the draft, the changed graph goes on, if what had finished is the same there. Raises NoFailedNode, and
    whatever refuses to start an execution.
    """
    if found := by_client_id(execution.user, client_id):
        return Started(execution=found, created=False)
    if execution.status not in (Execution.FAILED, Execution.CANCELLED) or execution.parent_id:
        raise NoFailedNode
    before = graph_of(execution)
    after = draft_graph(execution) if with_draft else before
    if before is None or after is None:
        raise NoFailedNode("The version that was run no longer exists.")
    rows = list(take_over(execution, plan_for(execution, after), before, after))
    order = ExecutionRequest(
        version=execution.version,
        client_id=client_id,
        source=Execution.Source.DRAFT
        if is_draft(execution, with_draft)
        else Execution.Source(execution.source),
        node_inputs=execution.node_inputs,
        permissions=execution.permissions,
        safe_mode=execution.safe_mode,
        session_id=execution.session_id,
        outside_sources=tuple(execution.outside_sources),
        draft=version_of(execution.user, execution.agent, after, execution.version)
        if is_draft(execution, with_draft)
        else None,
        pinned=pinned_for(execution, with_draft),
        retry_of=execution,
    )
    started = start(execution.user, execution.agent, execution.inputs, order)
    if started.created:
        write_rows(started.execution, rows)
    return started


def is_draft(execution: Execution, with_draft: bool) -> bool:
    return with_draft or execution.graph is not None


def pinned_for(execution: Execution, with_draft: bool) -> Mapping[str, JSON] | None:
    draft = AgentDraft.objects.filter(agent=execution.agent_id).first() if with_draft else None
    return draft.pinned or None if draft else execution.pinned


def draft_graph(execution: Execution) -> Graph:
    draft = AgentDraft.objects.filter(agent=execution.agent_id).first()
    if draft is None:
        raise NoFailedNode("The agent has no draft.")
    return parse_graph(draft.graph)


def plan_for(execution: Execution, graph: Graph) -> Plan:
    try:
        return make_plan(graph, get_registry(), inputs=execution.inputs, node_inputs=execution.node_inputs)
    except EngineError as error:
        raise NoFailedNode(str(error)) from error


# --- what had finished --------------------------------------------------------------------------


def take_over(execution: Execution, plan: Plan, before: Graph, after: Graph) -> Iterator[NodeExecution]:
    """Yield the rows that the next execution begins with; raises NoFailedNode if the graph changed under them."""
    rows = list(NodeExecution.objects.filter(execution=execution).order_by("seq"))
    last = max((row.seq or 0 for row in rows), default=0)
    for row in rows:
        if row.run is None:
            continue
        node = plan.nodes.get(row.node_id)
        if keeps(row, node):
            check_unchanged(row.node_id, before, after)
            yield row
        elif row.early:
            check_unchanged(row.node_id, before, after)
            yield reopen(row)
        elif node is not None and is_in_doubt(row, node):
            last += 1
            yield give_up(row, node, last)


def keeps(row: NodeExecution, node: PlannedNode | None) -> bool:
    """Return whether a run is over and done with: it succeeded, or the agent handles its error."""
    if row.seq is None:
        return False
    return row.status == Status.COMPLETED or (node is not None and node.error_is_linked)


def reopen(row: NodeExecution) -> NodeExecution:
    """Return a run that goes on after the outputs that were passed on before it failed."""
    row.status, row.seq, row.error = Status.INCOMPLETE, None, ""
    row.outputs = row.outputs[: row.early[-1][1]]
    row.ended_at = None
    return row


def is_in_doubt(row: NodeExecution, node: PlannedNode) -> bool:
    """Return whether it was cut off while its effect may have been under way; another agent was stopped as well."""
    effectful = node.block.effects is Effects.EFFECTFUL and node.block.type is not BlockType.AGENT
    return row.status in CUT_OFF and effectful


def give_up(row: NodeExecution, node: PlannedNode, seq: int) -> NodeExecution:
    """Return a failed run in place of one in doubt: to run it could do twice what happens once."""
    row.status, row.seq, row.error = Status.FAILED, seq, INTERRUPTED.format(name=node.name)
    row.ended_at = row.ended_at or current_time()
    return row


def check_unchanged(node_id: str, before: Graph, after: Graph) -> None:
    """Raise NoFailedNode unless a node that had finished is the same in both graphs, with the same sources."""
    old, new = before.node(node_id), after.node(node_id)
    same = old is not None and new is not None
    if same and old is not new:
        assert old is not None
        assert new is not None
        same = (old.block_id, dict(old.input_default)) == (new.block_id, dict(new.input_default))
        same = same and sources_of(node_id, before) == sources_of(node_id, after)
    if not same:
        raise NoFailedNode(
            f"The node {node_id[:60]!r} had finished and was changed since. Run the draft from the start instead."
        )


def sources_of(node_id: str, graph: Graph) -> set[tuple[str, str, str, bool]]:
    return {
        (link.source_id, link.source_name, link.sink_name, link.is_static)
        for link in graph.links_into(node_id)
    }


# --- rows ---------------------------------------------------------------------------------------


def write_rows(execution: Execution, rows: Iterable[NodeExecution]) -> None:
    """Copy rows to an execution, under the ids that its own runs would have, without their cost."""
    made = [copy_row(execution.pk, row) for row in rows]
    NodeExecution.objects.bulk_create(made, BATCH)


def copy_row(execution_id: uuid.UUID, row: NodeExecution) -> NodeExecution:
    assert row.run is not None
    copied = {name: getattr(row, name) for name in (*COPIED, *COPIED_TIMES)}
    own_id = run_id(execution_id, RunKey(row.node_id, row.run))
    return NodeExecution(id=own_id, execution_id=execution_id, seq=row.seq, status=row.status, **copied)
