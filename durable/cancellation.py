"""Cancel a job from outside: request it, broadcast it to the workers, and force it if none answers."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from durable import jobs
from durable.hub import watch_in_background
from durable.models import Job
from durable.redis import RedisError, client, key
from durable.wait import wait_for

logger = logging.getLogger(__name__)
CHANNEL = key("cancel")


@dataclass(frozen=True, kw_only=True)
class CancelAnswer:
    """Whether the job was stopped, and if not, why."""

    cancelled: bool
    reason: str = ""


def stop(model: type[Job], job_id: uuid.UUID) -> bool:
    """Request a stop without waiting; return False if the job had already ended."""
    asked = jobs.request_cancel(model, job_id)
    if asked:
        broadcast(job_id)
    return asked


def cancel(
    model: type[Job], job_id: uuid.UUID, *, seconds: float, stop: Callable[[uuid.UUID], bool]
) -> CancelAnswer:
    """Stop a job in any state and wait until it has stopped. A job that had already ended keeps its status."""
    asked = stop(job_id)
    if asked and wait_for(job_id, lambda: end_of(model, job_id), seconds=seconds) is None:
        jobs.force_cancel(model, job_id)  # its worker does not answer; the fence keeps it from writing later
    cancelled = end_of(model, job_id) == model.CANCELLED
    if asked and cancelled:
        return CancelAnswer(cancelled=True)
    return CancelAnswer(cancelled=cancelled, reason="already_cancelled" if cancelled else "already_ended")


def end_of(model: type[Job], job_id: uuid.UUID) -> str | None:
    status: str = model._default_manager.values_list("status", flat=True).get(pk=job_id)
    return status if status in model.TERMINAL else None


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
