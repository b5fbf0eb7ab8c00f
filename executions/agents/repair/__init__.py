"""Fixing: what is wrong with a graph and can be mended without guessing is mended, and each repair is told."""

from executions.agents.repair.fixes import AppliedFix, Fixed
from executions.agents.repair.pipeline import fix_graph

__all__ = ["AppliedFix", "Fixed", "fix_graph"]
