"""The doors of a block that need rows of ours: files, stored values, sub-agents, tools, the model, the clock."""
