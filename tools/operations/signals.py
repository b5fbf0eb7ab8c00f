"""What others hear of operations; sent with the keyword `operation`."""

from __future__ import annotations

from django.dispatch import Signal

operation_ended = (
    Signal()
)  # inside the transaction that ends it: rows written by receivers happen with it, or not
operation_changed = Signal()  # status or progress, for showing: a hint, outside any promise
