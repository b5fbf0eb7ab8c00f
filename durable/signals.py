"""Signals of the durable runtime."""

from __future__ import annotations

from django.dispatch import Signal

# Sent in every worker after its sweep, for rows that are not jobs but need attention, with the keywords `queues` and
# `idle_models`: the job models all of whose jobs have ended. Receivers return quickly, and cost nothing when there is
# nothing to do.
swept = Signal()
