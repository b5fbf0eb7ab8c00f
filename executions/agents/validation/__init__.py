"""Validation: reports all problems of a graph at once, each with its place and what to do about it."""

from executions.agents.validation.problems import MEANINGS, Code, Problem, ValidationReport
from executions.agents.validation.scope import Scope
from executions.agents.validation.validator import validate

__all__ = ["MEANINGS", "Code", "Problem", "Scope", "ValidationReport", "validate"]
