"""Sub-sessions: conversations that another conversation or an agent starts for a task."""
