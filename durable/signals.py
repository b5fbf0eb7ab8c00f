"""Signals of the durable runtime."""

from __future__ import annotations

from django.dispatch import Signal

# Sent every second in every worker after its sweep, with the keyword `queues`, for rows that are not jobs but need
# attention. Receivers return quickly, and cost nothing when there is nothing to do.
swept = Signal()
