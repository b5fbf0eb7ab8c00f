"""The graph that an execution runs: that of its version, or the draft that is tested."""

from __future__ import annotations

from executions.graph import Graph, parse_graph
from executions.models import AgentVersion, Execution


def graph_of(execution: Execution) -> Graph | None:
    """Return the graph; None if the version no longer exists."""
    if execution.graph is not None:
        return parse_graph(execution.graph)
    version = AgentVersion.objects.filter(agent=execution.agent_id, version=execution.version).first()
    return parse_graph(version.graph) if version is not None else None
