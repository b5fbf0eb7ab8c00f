"""Agents, executions and what surrounds them, as operators see them: one module per thing."""
