"""Schedules: agents that run by the clock, once for each time they are due."""
