"""Triggers: URLs that start agents; each call is stored before it is processed."""
