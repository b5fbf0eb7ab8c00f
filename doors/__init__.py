"""Doors for other people's clients: each translates a foreign protocol to what chat and executions do."""
