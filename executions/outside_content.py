"""Sources of outside content in an execution."""

from __future__ import annotations

from collections.abc import Iterable

from blocks.base import Block
from blocks.registry import get_registry
from boundary import taint
from executions.execution_graph import graph_of
from executions.models import Execution

CALLER = "the agent that ran it"
WEBHOOK = "a webhook call"
OTHERS_AGENT = "an agent from the store"


def content_sources(execution: Execution, blocks: Iterable[Block]) -> taint.Sources:
    """Return where its values may come from: its conversation, blocks and parent, or the caller of a webhook."""
    around = [CALLER] if execution.parent_id else []
    around += [WEBHOOK] if execution.source == Execution.Source.TRIGGER else []
    return taint.merge(
        execution.outside_sources, around, (block.name for block in blocks if block.gives_outside_content)
    )


def sources_of(execution: Execution) -> taint.Sources:
    """Return the same for an execution that is only read; an agent of the store counts as outside, too."""
    graph = graph_of(execution)
    nodes = graph.nodes if graph is not None else ()
    registry = get_registry()
    blocks = (registry.get(node.block_id) for node in nodes if node.block_id in registry)
    shared = [OTHERS_AGENT] if execution.agent.listing_id else []
    return taint.merge(content_sources(execution, blocks), shared)
