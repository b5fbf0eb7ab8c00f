"""What happens when a block run may start and when it ends."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import Count, QuerySet

from accounts.models import User
from durable import event_log
from durable.lifecycle import Lifecycle
from durable.publisher import poke
from executions import limits
from executions.models import BlockRun

ENDS = {
    "cancelled": "The block was stopped.",
    "operator": "An operator ended the run. What the block does may have happened.",
    "worker_lost": "The block was tried several times and its worker died each time. What it does may have happened.",
}


class BlockRunLifecycle(Lifecycle[BlockRun]):
    def admit(self, job_id: uuid.UUID) -> bool:
        """Return whether the user has room for another run; the others stay queued in their order."""
        user_id = BlockRun.objects.filter(pk=job_id).values_list("user_id", flat=True).first()
        if user_id is None:
            return False  # deleted meanwhile
        User.objects.select_for_update(no_key=True).get(pk=user_id)
        running = BlockRun.live().filter(user_id=user_id, status=BlockRun.RUNNING).exclude(pk=job_id)
        return running.count() < limits.MAX_RUNNING_BLOCK_RUNS_PER_USER

    def startable(self, queued: QuerySet[Any]) -> QuerySet[Any]:
        running = BlockRun.live().filter(status=BlockRun.RUNNING).order_by()
        full = running.values("user").annotate(count=Count("pk"))
        full = full.filter(count__gte=limits.MAX_RUNNING_BLOCK_RUNS_PER_USER)
        return queued.exclude(user__in=full.values("user"))

    def ended_unowned(self, job: BlockRun) -> None:
        if not job.error:
            job.error = ENDS.get(job.end_reason, ENDS["cancelled"])
            job.save(update_fields=["error"])

    def ended(self, job: BlockRun) -> None:
        """Delete the inputs: nobody needs them any more, and they may be secret."""
        BlockRun.objects.filter(pk=job.pk).update(sealed_inputs="")

    def after_end(self, job: BlockRun) -> None:
        """Wake the request that waits for it, and poke the user's next run."""
        event_log.nudge(job.pk)
        queued = BlockRun.live().filter(user_id=job.user_id, status=BlockRun.QUEUED).order_by("queued_at")
        for job_id in queued.values_list("pk", flat=True)[:1]:
            poke(BlockRun, job_id)
