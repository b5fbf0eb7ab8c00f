"""Fixing: what is wrong with a graph and can be mended without guessing is mended, and each repair is told."""

from executions.agents.fixing.fixes import Fix, Fixed
from executions.agents.fixing.repairing import fix_graph

__all__ = ["Fix", "Fixed", "fix_graph"]
