"""The operations console: the admin with a dashboard, the timeline of a turn, and access rules."""
