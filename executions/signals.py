"""What others hear of executions; sent with the keyword `execution`."""

from __future__ import annotations

from django.dispatch import Signal

# Inside the transaction that ends it: rows written by receivers happen with it, or not.
execution_ended = Signal()
# Its status or one of its nodes, for showing: a hint, outside any promise. `nodes` is a list of what changed.
execution_changed = Signal()
