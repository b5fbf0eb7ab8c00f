"""Broadcast of cancel requests: every worker checks whether it holds the job."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Future

from durable.hub import watch_in_background
from durable.redis import RedisError, client, key

logger = logging.getLogger(__name__)
CHANNEL = key("cancel")


def broadcast(job_id: uuid.UUID) -> None:
    """Tell all workers that a job should stop. Failures are only logged: workers check their rows every second."""
    try:
        client().publish(CHANNEL, str(job_id))
    except RedisError as error:
        logger.warning("A cancel request was not broadcast: %s", error)


def listen(heard: Callable[[uuid.UUID], None]) -> Future[None]:
    """Call `heard` with the id of each job to be stopped, until the returned future is cancelled."""

    def news(payload: str | None) -> None:
        if not payload:
            return  # a message may have been missed; the rows are checked every second anyway
        try:
            job_id = uuid.UUID(payload)
        except ValueError:
            logger.warning("A cancel request names %.64r, which is not a job id", payload)
            return
        heard(job_id)

    return watch_in_background(CHANNEL, news)
