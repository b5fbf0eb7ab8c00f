"""Repair: fixes the problems of a graph that can be fixed without guessing, and reports each fix."""

from executions.agents.repair.fixes import AppliedFix, Fixed
from executions.agents.repair.pipeline import fix_graph

__all__ = ["AppliedFix", "Fixed", "fix_graph"]
