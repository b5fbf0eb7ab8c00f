"""What other packages may do as part of the durable machinery."""

from __future__ import annotations

from django.dispatch import Signal

# Each second in every worker, after the sweep of its jobs, with the keyword `queues`: for rows that are no jobs and
# must be looked after all the same. A receiver answers quickly, and has done nothing when there is nothing to do.
swept = Signal()
