"""A lifecycle that records which of its hooks were called."""

from __future__ import annotations

import uuid

from durable.lifecycle import Lifecycle, NewAttempt
from tests.durable.testjobs.models import Chore


class ChoreLifecycle(Lifecycle[Chore]):
    def admit(self, job_id: uuid.UUID) -> bool:
        return not Chore.objects.get(pk=job_id).blocked

    def claimed(self, job: Chore, attempt: NewAttempt) -> None:
        job.calls.create(hook="claimed", attempt=job.attempt)

    def ended_unowned(self, job: Chore) -> None:
        job.calls.create(hook="ended_unowned", attempt=job.attempt)

    def ended(self, job: Chore) -> None:
        job.calls.create(hook="ended", attempt=job.attempt)

    def after_end(self, job: Chore) -> None:
        job.calls.create(hook="after_end", attempt=job.attempt)
