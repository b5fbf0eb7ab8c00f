"""Triggers: web addresses that start agents; each call is stored before anything is done about it."""
