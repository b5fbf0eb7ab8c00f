"""Admin pages of agents, executions, schedules, triggers, reviews and credentials: one module each."""

from executions.admin import agents, block_runs, credentials, executions, reviews, schedules, triggers

__all__ = ["agents", "block_runs", "credentials", "executions", "reviews", "schedules", "triggers"]
