"""Cancel a job from outside: request it, wait, and force it if the worker does not answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from durable import cancel_broadcast, jobs
from durable.models import Job
from durable.wait import wait_for


@dataclass(frozen=True, kw_only=True)
class CancelAnswer:
    """Whether the job was stopped, and if not, why."""

    cancelled: bool
    reason: str = ""


def stop(model: type[Job], job_id: uuid.UUID) -> bool:
    """Request a stop without waiting; return False if the job had already ended."""
    asked = jobs.request_cancel(model, job_id)
    if asked:
        cancel_broadcast.broadcast(job_id)
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
