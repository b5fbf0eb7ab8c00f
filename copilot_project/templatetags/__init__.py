"""Filters of the operations room."""
