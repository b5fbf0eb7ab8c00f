"""Signals about operations; sent with the keyword `operation`."""

from __future__ import annotations

from django.dispatch import Signal

operation_ended = Signal()  # inside the transaction that ends it, so receivers' writes commit with it
operation_changed = Signal()  # status or progress, for display only; may be lost
