"""Turns that wait for other work: one that waits gives up its place among its user's running turns."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from django.db import models

from durable import bell, jobs
from durable.after_commit import after_commit
from durable.lease import Lease
from durable.poke import poke
from durable.retrying import retry_database
from durable.stop import StopReason

if TYPE_CHECKING:
    from chat.models import Turn

GOES_ON_ELSEWHERE = (StopReason.LOST, StopReason.HAND_OVER)


class TurnWait(models.Model):
    """A tool call that does nothing but wait. The row outlives a crash: whoever ends the turn knows whom to stop."""

    key = models.CharField(max_length=255, unique=True, help_text="The key of the call.")
    turn = models.ForeignKey("chat.Turn", on_delete=models.CASCADE, related_name="waits")
    attempt = models.PositiveIntegerField(help_text="The turn's attempt that waits.")
    job_id = models.UUIDField(null=True, blank=True, help_text="The turn it waits for.")

    def __str__(self) -> str:
        return f"wait {self.key}"


@contextmanager
def waiting(turn: Turn, lease: Lease, *, key: str, job_id: uuid.UUID | None) -> Iterator[None]:
    """While inside, the turn leaves its place to others, first of all to what it waits for.

    Without that a user with room for one turn could never have a turn that waits for another. When the wait is
    over the turn goes on at once, so for a while one more may run than the limit says. The row stays when another
    attempt goes on with the wait.
    """
    lend = partial(
        TurnWait.objects.update_or_create,
        key=key,
        defaults={"turn": turn, "attempt": lease.attempt, "job_id": job_id},
    )
    lease.commit(lend)
    for turn_id in turn.next_up(turn.session):
        poke(type(turn), turn_id)
    try:
        yield
    finally:
        if lease.stop.reason not in GOES_ON_ELSEWHERE:
            over = TurnWait.objects.filter(key=key, attempt=lease.attempt)
            retry_database(over.delete, seconds=lease.seconds)


def stop_awaited(turn: Turn) -> None:
    """A turn that ends while it waits takes along the turns it waits for. Inside the transaction that ends it."""
    awaited = list(turn.waits.values_list("job_id", flat=True))
    for job_id in awaited:
        if job_id and jobs.request_cancel(type(turn), job_id):
            after_commit(bell.ring, job_id)
    if awaited:
        turn.waits.all().delete()
