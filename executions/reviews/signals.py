"""What others hear of reviews; sent with the keyword `review`."""

from __future__ import annotations

from django.dispatch import Signal

# Inside the transaction that writes the decision (approved, rejected or expired), so that whoever waits for it is
# woken with it or not at all. The execution may not have been put aside yet: it looks again on its way to wait.
review_decided = Signal()
