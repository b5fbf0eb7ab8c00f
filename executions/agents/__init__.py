"""Agents: graphs of blocks, kept in versions, brought in, checked, repaired, searched and published."""
