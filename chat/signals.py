"""What others hear of turns; sent with the keyword `turn`."""

from __future__ import annotations

from django.dispatch import Signal

# Inside the transaction that ends it: rows written by receivers happen with it, or not.
turn_ended = Signal()
