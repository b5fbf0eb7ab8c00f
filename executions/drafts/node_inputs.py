"""Inputs of a single node of a draft: its own values, and for linked pins what was pinned or last emitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from accounts.models import User
from blocks.pins import MISSING, read_pin
from blocks.registry import get_registry
from blocks.schema import JSON
from executions.drafts.errors import NodeMissing
from executions.engine.large_values import LargeValues
from executions.engine.plan import own_values
from executions.graph import Link, Node, parse_graph
from executions.models import AgentDraft, Execution, NodeExecution

Pairs = Sequence[Sequence[JSON]]
RECENT = 5  # executions in which a value is looked for


def node_of(draft: AgentDraft, node_id: str) -> Node:
    """Return a node whose block is installed; raises NodeMissing."""
    node = parse_graph(draft.graph).node(node_id)
    if node is None or node.block_id not in get_registry():
        raise NodeMissing
    return node


def gather_inputs(user: User, draft: AgentDraft, node: Node, given: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the inputs to run a node with; `given` come first, then what its sources last emitted."""
    graph = parse_graph(draft.graph)
    block = get_registry().get(node.block_id)
    linked = dict(linked_values(user, draft, graph.links_into(node.id)))
    return {**own_values(node, block, {}), **linked, **given}


def linked_values(user: User, draft: AgentDraft, links: Sequence[Link]) -> Iterator[tuple[str, JSON]]:
    large = LargeValues(user)
    last = last_outputs(draft, {link.source_id for link in links})
    for link in links:
        pairs = draft.pinned.get(link.source_id) or last.get(link.source_id, ())
        for pin, value in reversed(pairs):
            if pin not in (link.source_name, link.source.pin):
                continue
            loaded = large.load(value)
            found = loaded if link.source_name == pin else read_pin(loaded, link.source)
            if found is not MISSING:
                yield link.sink_name, found
                break


def last_outputs(draft: AgentDraft, node_ids: set[str]) -> dict[str, Pairs]:
    """Return what these nodes emitted in the newest execution of the agent in which they finished."""
    found: dict[str, Pairs] = {}
    recent = Execution.objects.filter(agent=draft.agent_id, parent=None).order_by("-queued_at")
    ids = list(recent.values_list("pk", flat=True)[:RECENT])
    rows = NodeExecution.objects.filter(execution__in=ids, node_id__in=node_ids, status="COMPLETED")
    for row in rows.order_by("-execution__queued_at", "-run"):
        found.setdefault(row.node_id, row.outputs)
    return found
