"""Statuses of executions and node executions, and the words of the AutoGPT format that clients see for them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from durable.models import live_of


class Status(models.TextChoices):
    """Status of an execution or a node execution; the last three are final."""

    INCOMPLETE = "INCOMPLETE"  # some of its inputs are missing
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"  # a worker holds it, or takes over from one that did
    WAITING = "WAITING"  # for a person, a time or another job, without a worker
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    TERMINATED = "TERMINATED"


class PublicStatus(models.TextChoices):
    """What clients see of a status: waiting is REVIEW when a person is asked, else RUNNING."""

    INCOMPLETE = "INCOMPLETE"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    REVIEW = "REVIEW"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    TERMINATED = "TERMINATED"


TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.TERMINATED})
LIVE = live_of(Status.values, TERMINAL)
STARTED = (Status.RUNNING.value, Status.WAITING.value)


def public_status(status: str, *, asks_person: bool) -> str:
    """Return the word that clients see for a status."""
    if status != Status.WAITING:
        return str(status)
    return PublicStatus.REVIEW.value if asks_person else PublicStatus.RUNNING.value


def has_public_status(word: str) -> Q:
    """Return the condition on executions that clients see under this word."""
    match word:
        case PublicStatus.RUNNING:
            return Q(status=Status.RUNNING) | Q(status=Status.WAITING, asks_person=False)
        case PublicStatus.REVIEW:
            return Q(status=Status.WAITING, asks_person=True)
        case _:
            return Q(status=word)
