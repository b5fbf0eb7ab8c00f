"""Signals of the package; each is sent inside the transaction that it speaks of, unless it says otherwise."""

from __future__ import annotations

from django.dispatch import Signal

# agent: it was removed from its library; its schedules and triggers end with it.
agent_removed = Signal()
# review: it was approved, rejected or expired. The execution may not wait yet: it looks again before it does.
review_decided = Signal()
# execution: it ended. Rows written by receivers are committed with the end, or not at all.
execution_ended = Signal()
# execution, nodes: something changed that is shown to people. A hint, sent after the commit; it may get lost.
execution_changed = Signal()
