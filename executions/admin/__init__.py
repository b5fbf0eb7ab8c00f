"""Admin pages of agents, executions, presets, schedules, triggers, reviews and credentials: one module each."""

from executions.admin import (
    agents,
    block_runs,
    credentials,
    executions,
    presets,
    reviews,
    schedules,
    triggers,
)

__all__ = ["agents", "block_runs", "credentials", "executions", "presets", "reviews", "schedules", "triggers"]
