"""Agents, executions and what surrounds them, as operators see them: one module per thing."""

from executions.admin import agents, block_runs, credentials, executions, reviews, schedules, triggers

__all__ = ["agents", "block_runs", "credentials", "executions", "reviews", "schedules", "triggers"]
