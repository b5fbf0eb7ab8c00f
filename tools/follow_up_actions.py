"""What people and operators do with follow-ups: cancel them, and have them run now."""

from __future__ import annotations

from durable.clock import database_now
from tools.models import FollowUp


def cancel(followup: FollowUp) -> None:
    """End a follow-up. Repeating it changes nothing."""
    FollowUp.objects.filter(pk=followup.pk).update(next_run_at=None)


def run_now(followup: FollowUp) -> None:
    """Make a follow-up due, also one that is over; the next sweep of a worker runs it."""
    FollowUp.objects.filter(pk=followup.pk).update(next_run_at=database_now())
