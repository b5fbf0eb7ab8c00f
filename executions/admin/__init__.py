"""Agents, executions and what surrounds them, as operators see them: one module per thing."""

from executions.admin import agents, credentials, executions, reviews, schedules, triggers

__all__ = ["agents", "credentials", "executions", "reviews", "schedules", "triggers"]
