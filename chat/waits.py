"""Turns that wait for other work: a waiting turn does not count against its user's running limit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from chat.admission import next_up
from chat.models import Turn, TurnWait
from durable import cancellation, jobs
from durable.after_commit import after_commit
from durable.lease import Lease
from durable.poke import poke
from durable.stop_signal import StopReason
from durable.transactions import retry_database

GOES_ON_ELSEWHERE = (StopReason.LOST, StopReason.HAND_OVER)


@contextmanager
def waiting(turn: Turn, lease: Lease, *, key: str, job_id: uuid.UUID | None) -> Iterator[None]:
    """Free the turn's slot among its user's running turns inside the block, first of all for what it waits for.

    Otherwise a user with one slot could never have a turn that waits for another. After the wait the turn goes on
    at once, so for a while one more may run than the limit says. The row is kept if another attempt continues the
    wait.
    """
    record = partial(
        TurnWait.objects.update_or_create,
        key=key,
        defaults={"turn": turn, "attempt": lease.attempt, "job_id": job_id},
    )
    lease.commit(record)
    for turn_id in next_up(turn.session):
        poke(Turn, turn_id)
    try:
        yield
    finally:
        if lease.stop.reason not in GOES_ON_ELSEWHERE:
            over = TurnWait.objects.filter(key=key, attempt=lease.attempt)
            retry_database(over.delete, seconds=lease.seconds)


def stop_awaited(turn: Turn) -> None:
    """Stop the turns that an ending turn waits for. Inside the transaction that ends it."""
    awaited = list(turn.waits.values_list("job_id", flat=True))
    for job_id in awaited:
        if job_id and jobs.request_cancel(Turn, job_id):
            after_commit(cancellation.broadcast, job_id)
    if awaited:
        turn.waits.all().delete()
