"""Agents, executions and what surrounds them, as operators see them: one module per thing."""

from executions.admin import credentials, reviews

__all__ = ["credentials", "reviews"]
