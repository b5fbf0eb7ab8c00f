"""Stopping a job from outside: ask it, wait for it, and end it when its worker does not answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from durable import bell, jobs
from durable.models import Job
from durable.waiting import wait_for


@dataclass(frozen=True, kw_only=True)
class CancelAnswer:
    """Whether the job was stopped, and why not."""

    cancelled: bool
    reason: str = ""


def stop(model: type[Job], job_id: uuid.UUID) -> bool:
    """Ask for the stop without waiting for it; False when the job had ended."""
    asked = jobs.request_cancel(model, job_id)
    if asked:
        bell.ring(job_id)
    return asked


def cancel(
    model: type[Job], job_id: uuid.UUID, *, seconds: float, stop: Callable[[uuid.UUID], bool]
) -> CancelAnswer:
    """Stop a job in any state and wait until it has stopped. Truthful: one that had ended stays as it ended."""
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
