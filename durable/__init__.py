"""Durable jobs: leases, claims, the event log, and how workers and clients hear of changes."""
