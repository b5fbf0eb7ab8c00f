"""Mapping of a call to an agent: the payload goes to its trigger blocks, or to the inputs named in it."""

from __future__ import annotations

from collections.abc import Mapping

from blocks.base import BlockType
from blocks.ports import JSON
from blocks.registry import get_registry
from executions.errors import CannotRun
from executions.graph import parse_graph
from executions.models import AgentVersion, Execution, Trigger, TriggerDelivery
from executions.start import ExecutionRequest, find_version, start

PAYLOAD_PIN = "payload"


def start_agent(delivery: TriggerDelivery) -> Execution:
    """Start the agent of the call, once per delivery; raises what `start` raises."""
    trigger = delivery.trigger
    agent = trigger.agent
    if not trigger.user.is_active:
        raise CannotRun("The account of its owner is deactivated.")
    if agent.deleted_at is not None:
        raise CannotRun(f"The agent {agent.name!r} was deleted.")
    version = find_version(agent, trigger.version)
    payload: Mapping[str, JSON] = delivery.payload or {}
    nodes = webhook_nodes(version)
    inputs = trigger.inputs if nodes else named_inputs(version, payload) | trigger.inputs
    order = ExecutionRequest(
        version=version.version,
        client_id=f"trigger:{delivery.pk}",
        source=Execution.Source.TRIGGER,
        node_inputs=node_inputs(trigger, nodes, payload),
    )
    return start(trigger.user, agent, inputs, order).execution


def webhook_nodes(version: AgentVersion) -> list[str]:
    """Return the ids of its trigger blocks."""
    registry = get_registry()
    return [
        node.id
        for node in parse_graph(version.graph).nodes
        if node.block_id in registry and registry.get(node.block_id).type is BlockType.WEBHOOK_MANUAL
    ]


def node_inputs(
    trigger: Trigger, nodes: list[str], payload: Mapping[str, JSON]
) -> dict[str, dict[str, JSON]]:
    """Return the payload for the chosen trigger block, or for all of them."""
    if trigger.node_id and trigger.node_id not in nodes:
        raise CannotRun(f"The agent no longer has a trigger block with the id {trigger.node_id!r}.")
    meant = [trigger.node_id] if trigger.node_id else nodes
    return {node: {PAYLOAD_PIN: dict(payload)} for node in meant}


def named_inputs(version: AgentVersion, payload: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the values of the payload named like an input; an input named `payload` gets all of it."""
    names = version.input_schema.get("properties") or {}
    whole = {PAYLOAD_PIN: dict(payload)} if PAYLOAD_PIN in names else {}
    return whole | {name: payload[name] for name in names if name in payload}
