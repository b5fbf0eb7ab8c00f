"""Runs that wait without a worker: which of them can go on, and when to look next."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from durable import limits
from durable.clock import database_now
from executions.blocks.errors import BlockParked, ParkedForReview, ParkedUntil
from executions.models import Execution, Review


def due(parked: Mapping[uuid.UUID, BlockParked]) -> set[uuid.UUID]:
    """The runs whose time has come, whose review is decided, whose sub-agent ended or has something new.

    A run that waits for a job that is no execution (a turn) is looked at whenever somebody called.
    """
    now = database_now()
    by_time = {one for one, wait in parked.items() if isinstance(wait, ParkedUntil) and wait.until <= now}
    for_review = [one for one, wait in parked.items() if isinstance(wait, ParkedForReview)]
    for_job = [one for one, wait in parked.items() if not isinstance(wait, ParkedUntil | ParkedForReview)]
    return by_time | decided(for_review) | let_go(for_job)


def decided(run_ids: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    waiting = Review.objects.filter(node_id__in=list(run_ids), state=Review.State.WAITING)
    return set(run_ids) - set(waiting.values_list("node_id", flat=True))


def let_go(run_ids: Iterable[uuid.UUID]) -> set[uuid.UUID]:
    return set(run_ids) - set(live_children(run_ids))


def live_children(run_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The status of the sub-agents that these runs wait for and that have not ended, by run."""
    children = Execution.live().filter(parent_id__in=list(run_ids))
    return dict(children.values_list("parent_id", "status"))


def asks_a_person(parked: Mapping[uuid.UUID, BlockParked]) -> bool:
    """Whether somebody must decide before it goes on, here or in a sub-agent."""
    if any(isinstance(wait, ParkedForReview) for wait in parked.values()):
        return True
    for_job = [one for one, wait in parked.items() if not isinstance(wait, ParkedUntil)]
    return Execution.WAITING in live_children(for_job).values()


def look_again_in(parked: Iterable[BlockParked]) -> float | None:
    """Seconds until somebody should look without being called; None when only a person is waited for."""
    now = database_now()
    moments: list[datetime] = []
    for wait in parked:
        if isinstance(wait, ParkedUntil):
            moments.append(wait.until)
        elif not isinstance(wait, ParkedForReview):
            moments.append(now + timedelta(seconds=limits.PARKED_LOOK_SECONDS))
    return max((min(moments) - now).total_seconds(), 0.0) if moments else None
