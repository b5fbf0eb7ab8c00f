"""Credentials: secrets people keep for their agents, sealed at rest, opened for one use, never shown."""
