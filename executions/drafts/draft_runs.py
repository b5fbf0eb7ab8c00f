"""Test runs: execute the draft of an agent as it stands, with its pinned outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from accounts.models import User
from blocks.schema import JSON
from executions.agents.schemas import schemas_of
from executions.agents.versions import get_version, validate_graph
from executions.drafts.actions import open_draft
from executions.drafts.errors import DraftMoved
from executions.graph import Graph, graph_to_json, parse_graph
from executions.models import Agent, AgentVersion, Execution
from executions.start import ExecutionRequest, Started, start


@dataclass(frozen=True, kw_only=True)
class DraftRunRequest:
    """Which revision to run, with what."""

    revision: int
    inputs: Mapping[str, JSON]
    client_id: str | None = None  # idempotency key


def start_draft_run(user: User, agent: Agent, order: DraftRunRequest) -> Started:
    """Run the draft with its pinned outputs. Once per client_id.

    Raises DraftMoved for another revision, and whatever refuses to start an execution.
    """
    draft = open_draft(agent)
    if draft.revision != order.revision:
        raise DraftMoved
    graph = parse_graph(draft.graph)
    request = ExecutionRequest(
        client_id=order.client_id,
        source=Execution.Source.DRAFT,
        draft=version_of(user, agent, graph, draft.base_version),
        pinned={key: pairs for key, pairs in draft.pinned.items() if key in graph.nodes_by_id} or None,
    )
    return start(user, agent, order.inputs, request)


def version_of(user: User, agent: Agent, graph: Graph, base_version: int) -> AgentVersion:
    """Return the graph as a version that is not saved, with the problems and schemas it would have."""
    schemas = schemas_of(graph)
    base = get_version(agent, base_version)
    return AgentVersion(
        agent=agent,
        version=base_version,
        graph=graph_to_json(graph),
        input_schema=dict(schemas.inputs),
        output_schema=dict(schemas.outputs),
        problems=[problem.as_json() for problem in validate_graph(user, graph).errors],
        outside_sources=base.outside_sources,
    )
