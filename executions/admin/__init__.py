"""Agents, executions and what surrounds them, as operators see them: one module per thing."""

from executions.admin import credentials, executions, reviews, schedules, triggers

__all__ = ["credentials", "executions", "reviews", "schedules", "triggers"]
