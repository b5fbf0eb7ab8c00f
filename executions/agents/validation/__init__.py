"""Validation: every problem of a graph at once, each with its place and what to do about it."""

from executions.agents.validation.checking import validate
from executions.agents.validation.problems import MEANINGS, Code, Problem, Report
from executions.agents.validation.scope import Scope

__all__ = ["MEANINGS", "Code", "Problem", "Report", "Scope", "validate"]
