"""Pokes: Celery messages that name a job to claim; they may be lost, duplicated or late."""

from __future__ import annotations

import logging
import uuid

from django.db import DatabaseError, InterfaceError

from durable import limits
from durable.models import Job
from durable.publisher import Delivery, publish

logger = logging.getLogger(__name__)


def poke(model: type[Job], job_id: uuid.UUID) -> bool:
    """Send a poke without waiting long; return False if it was not sent; a sweep sends it again."""
    if send_poke(model, job_id) is Delivery.TAKEN:
        return True
    leave_to_sweep(model, job_id)
    return False


def send_poke(model: type[Job], job_id: uuid.UUID) -> Delivery:
    """Send a poke, unless enough of them wait in the queue already."""
    return publish(
        model.task_name,
        queue=model.queue,
        args=[str(job_id)],
        lifetime=limits.POKE_LIFETIME_SECONDS,
        at_most=limits.MAX_WAITING_POKES,
    )


def leave_to_sweep(model: type[Job], job_id: uuid.UUID) -> None:
    """Clear the recorded poke, so that the next sweep does not wait for its effect."""
    try:
        model._default_manager.filter(pk=job_id, poked_at__isnull=False).update(poked_at=None)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("A job that was not poked waits a little longer for a sweep: %s", error)
