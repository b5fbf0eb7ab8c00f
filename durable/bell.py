"""The cancel bell: a broadcast that makes every worker look whether it holds a job someone wants stopped."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Future

from durable.hub import watch_in_background
from durable.redis import RedisError, client, key

logger = logging.getLogger(__name__)
CHANNEL = key("cancel")


def ring(job_id: uuid.UUID) -> None:
    """Tell all workers. A failure is nothing: each looks at its rows every second."""
    try:
        client().publish(CHANNEL, str(job_id))
    except RedisError as error:
        logger.warning("The cancel bell did not ring: %s", error)


def listen(heard: Callable[[uuid.UUID], None]) -> Future[None]:
    """Call `heard` with the id of each job that is rung for, until the answer is cancelled."""

    def news(payload: str | None) -> None:
        if not payload:
            return  # a ring may have been missed; the rows are looked at every second anyway
        try:
            job_id = uuid.UUID(payload)
        except ValueError:
            logger.warning("The cancel bell rang for %.64r, which is no job", payload)
            return
        heard(job_id)

    return watch_in_background(CHANNEL, news)
