"""Costs follow live work, not history."""
