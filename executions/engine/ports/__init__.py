"""Ports of blocks that need our database: files, stored values, sub-agents, tools, the model, the clock."""
