"""What happens when a turn is claimed and when it ends."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import QuerySet

from chat import admission, notifications, turn_log
from chat.models import Turn
from chat.signals import turn_ended
from durable.lifecycle import Lifecycle, NewAttempt, NotAdmitted
from durable.publisher import poke


class TurnLifecycle(Lifecycle[Turn]):
    reads_queued = True
    keeps_abandoned = True  # a response of /v1 is the same in every replay
    rereads_ended = False  # what others may write to a running turn, its end does not depend on

    def read_queued(self, job_id: uuid.UUID) -> Turn | None:
        turn = admission.read_locked(job_id)
        if turn is None or turn.status != Turn.QUEUED:
            return None
        if not admission.has_room(turn):
            raise NotAdmitted
        return turn

    def admit(self, job_id: uuid.UUID) -> bool:
        return admission.may_start(job_id)

    def lock_before(self, job_id: uuid.UUID) -> None:
        admission.lock_session_of(job_id)

    def startable(self, queued: QuerySet[Any]) -> QuerySet[Any]:
        return admission.startable(queued)

    def claimed(self, job: Turn, attempt: NewAttempt) -> None:
        """Record the attempt and open its log: with `start` once per turn, else with its position."""
        turn_log.open_attempt(job, attempt)

    def ended_unowned(self, job: Turn) -> None:
        """Keep what the last attempt had shown, and close the log in its place."""
        turn_log.close_unowned(job)

    def ended(self, job: Turn) -> None:
        """Stop the turns it waited for, queue its webhooks, and let other packages change their rows."""
        if job.may_have_waits:
            admission.stop_awaited(job)
        notifications.announce_end(job)
        turn_ended.send(sender=Turn, turn=job)

    def after_end(self, job: Turn) -> None:
        notifications.turn_changed(job)
        for turn_id in admission.next_after(job.session):
            poke(Turn, turn_id)
