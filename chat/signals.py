"""Signals of turns, sent with the keyword argument `turn`."""

from __future__ import annotations

from django.dispatch import Signal

# Sent inside the transaction that ends the turn: rows written by receivers are committed with it.
turn_ended = Signal()
