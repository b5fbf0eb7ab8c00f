"""Pokes: Celery messages that tell a worker to look at a job; they may be lost, doubled or late."""

from __future__ import annotations

import logging
import uuid

from celery import current_app
from kombu.exceptions import OperationalError as BrokerDown

from durable.models import Job

logger = logging.getLogger(__name__)


def poke(model: type[Job], job_id: uuid.UUID) -> bool:
    """Send one poke without waiting long; False when the broker did not take it, which a sweep puts right."""
    try:
        current_app.send_task(
            model.task_name, args=[str(job_id)], queue=model.queue, retry=False, ignore_result=True
        )
    except (BrokerDown, OSError) as error:
        logger.warning("The broker did not take a poke, a sweep will send it again: %s", error)
        return False
    except Exception:  # the row is committed: whatever a transport raises, its owner must not hear of it
        logger.exception("A poke failed in an unknown way, a sweep will send it again")
        return False
    return True
