"""Start of an execution: check everything, commit the row, then poke."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from accounts.budgets import check_budget
from accounts.models import User
from blocks.base import BlockType
from blocks.ports import JSON
from blocks.registry import get_registry
from boundary import taint
from durable.database import after_commit, in_transaction
from durable.publisher import poke
from executions import limits, notifications, permissions
from executions.errors import AgentsTooDeep, BlockDenied, CannotRun, TooManyExecutions
from executions.graph import Graph, parse_graph
from executions.inputs import fit_inputs
from executions.models import Agent, AgentVersion, Execution, NodeExecution
from executions.redaction import hide

SHOWN_PROBLEMS = 5


@dataclass(frozen=True, kw_only=True)
class ExecutionRequest:
    """How to run an agent, and for whom."""

    version: int | None = None  # None: the newest
    client_id: str | None = None  # idempotency key: a repeated request returns the same execution
    source: Execution.Source = Execution.Source.API
    node_inputs: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)  # of a trigger, by node id
    permissions: Mapping[str, JSON] = field(default_factory=dict)
    safe_mode: bool = True
    session_id: uuid.UUID | None = None
    tell_session: bool = False
    parent: NodeExecution | None = None
    outside_sources: tuple[str, ...] = ()  # outside content read before the request
    draft: AgentVersion | None = None  # not saved: the graph to run instead of that of a version
    pinned: Mapping[str, JSON] | None = None  # outputs by node id, used instead of running the node
    retry_of: Execution | None = None


PLAIN = ExecutionRequest()


@dataclass(frozen=True, kw_only=True)
class Started:
    """The execution, and whether this request created it or an earlier one with the same client_id."""

    execution: Execution
    created: bool


def start(user: User, agent: Agent, inputs: Mapping[str, JSON], order: ExecutionRequest = PLAIN) -> Started:
    """Commit the execution, then poke. Once per client_id: a repeated request returns the same execution.

    Raises BadInputs, CannotRun, BlockDenied, AgentsTooDeep, TooManyExecutions or OverBudget; then nothing is run.
    """
    if found := by_client_id(user, order.client_id):
        return Started(execution=found, created=False)
    version = check_problems(order.draft) if order.draft else find_version(agent, order.version)
    check_graph(parse_graph(version.graph), agent, order)
    fitted = fit_inputs(inputs, version.input_schema)
    depth = check_depth(order)
    check_budget(user)
    return _write_if_room(user, version, fitted, depth, order)


@in_transaction
def _write_if_room(
    user: User, version: AgentVersion, inputs: Mapping[str, JSON], depth: int, order: ExecutionRequest
) -> Started:
    check_room(user, order)
    execution, created = write(user, version, inputs, depth, order)
    if created:
        after_commit(announce, execution)
    return Started(execution=execution, created=created)


def by_client_id(user: User, client_id: str | None) -> Execution | None:
    return Execution.objects.filter(user=user, client_id=client_id).first() if client_id else None


def find_version(agent: Agent, wanted: int | None) -> AgentVersion:
    number = wanted or agent.latest_version
    version = agent.versions.filter(version=number).first()
    if version is None:
        raise CannotRun(f"{agent.name!r} has no version {number}.")
    return check_problems(version)


def check_problems(version: AgentVersion) -> AgentVersion:
    """Return the version; raises CannotRun if validation found problems."""
    if version.problems:
        told = [str(problem.get("message", "")) for problem in version.problems]
        more = f" And {len(told) - SHOWN_PROBLEMS} more." if len(told) > SHOWN_PROBLEMS else ""
        raise CannotRun(f"{version.agent.name!r} has problems: {' '.join(told[:SHOWN_PROBLEMS])}{more}")
    return version


def check_not_removed(agent: Agent) -> None:
    """Raise CannotRun if the agent is no longer in its library, so that nothing may start it."""
    if agent.deleted_at is not None:
        raise CannotRun(f"The agent {agent.name!r} was deleted, so it cannot be started any more.")


def check_graph(graph: Graph, agent: Agent, order: ExecutionRequest) -> None:
    """Raise if a block is missing or denied, or if the agent needs a webhook call to start."""
    registry, hooks = get_registry(), set()
    for node in graph.nodes:
        if node.block_id not in registry:
            raise CannotRun(f"The block {node.block_id} of node {node.id} is not available here.")
        block = registry.get(node.block_id)
        if not permissions.allows(order.permissions, block):
            raise BlockDenied(f"The agent uses the block {block.name!r}, which this session may not use.")
        if block.type is BlockType.WEBHOOK_MANUAL:
            hooks.add(node.id)
    if hooks and hooks.isdisjoint(order.node_inputs):
        raise CannotRun(
            f"{agent.name!r} starts when its webhook is called. Create a trigger for it and call that."
        )


def check_depth(order: ExecutionRequest) -> int:
    depth = order.parent.execution.depth + 1 if order.parent else 0
    if depth > limits.MAX_AGENT_DEPTH:
        raise AgentsTooDeep(f"Agents may run agents at most {limits.MAX_AGENT_DEPTH} levels deep.")
    return depth


def check_room(user: User, order: ExecutionRequest) -> None:
    if order.parent is not None:
        return
    live = Execution.live().filter(user=user)
    if live.count() >= limits.MAX_LIVE_EXECUTIONS_PER_USER:
        raise TooManyExecutions


def write(
    user: User, version: AgentVersion, inputs: Mapping[str, JSON], depth: int, order: ExecutionRequest
) -> tuple[Execution, bool]:
    values = {
        "agent_id": version.agent_id,
        "version": version.version,
        "status": Execution.QUEUED,
        "inputs": inputs,
        "secret_inputs": secret_names(version, inputs, order),
        "node_inputs": dict(order.node_inputs),
        "source": order.source,
        "parent": order.parent,
        "depth": depth,
        "permissions": dict(order.permissions),
        "safe_mode": order.safe_mode,
        "session_id": order.session_id,
        "tell_session": order.tell_session,
        "outside_sources": list(taint.merge(order.outside_sources, version.outside_sources)),
        "poked_at": Execution.clock.now(),
        "graph": version.graph if order.draft else None,
        "pinned": order.pinned,
        "retry_of": order.retry_of,
    }
    if order.client_id:
        return Execution.objects.get_or_create(user=user, client_id=order.client_id, defaults=values)
    return Execution.objects.create(user=user, **values), True


def secret_names(version: AgentVersion, inputs: Mapping[str, JSON], order: ExecutionRequest) -> list[str]:
    """Return the inputs the agent declares secret, and those that contain a secret of the parent."""
    properties = version.input_schema.get("properties", {})
    known = order.parent.execution.secrets if order.parent else frozenset()
    return [
        name
        for name, value in inputs.items()
        if properties.get(name, {}).get("secret") is True or hide(value, known) != value
    ]


def announce(execution: Execution) -> None:
    """Poke and push; both may fail, as the row is committed."""
    poke(Execution, execution.pk)
    notifications.execution_changed(execution)
