"""Block runs: one block by itself, asked for over HTTP and run by a worker."""

from __future__ import annotations

import json
import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Count, Q, QuerySet

from accounts import sealing
from accounts.models import User
from durable import limits, log
from durable.models import Job
from durable.poke import poke
from executions.models.fields import OrderedJSON

ENDS = {
    "cancelled": "The block was stopped.",
    "operator": "An operator ended the run. What the block does may have happened.",
    "worker_lost": "The block was tried several times and its worker died each time. What it does may have happened.",
}


class BlockRun(Job):
    """One run of a block. Sent again under the same `client_id` with the same inputs, it is the same run."""

    task_name = "executions.run_block"
    queue = "executions"
    reads_with = ("user",)

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="block_runs")
    block_id = models.CharField(max_length=200)
    client_id = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text="Tells the same inputs sent again.")
    sealed_inputs = models.TextField(blank=True, help_text="Encrypted, and gone with the end.")
    answer = OrderedJSON(null=True, help_text="What is answered; empty if no attempt could say it.")

    class Meta(Job.Meta):
        abstract = False
        indexes = [
            *Job.Meta.indexes,
            models.Index(fields=["user", "client_id"], name="executions_blockrun_client"),
            models.Index(
                fields=["user"], condition=Q(status__in=Job.LIVE), name="executions_blockrun_of_user"
            ),
        ]

    @property
    def inputs(self) -> dict[str, Any]:
        opened: dict[str, Any] = json.loads(sealing.unseal(self.sealed_inputs)) if self.sealed_inputs else {}
        return opened

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"block_id": self.block_id}

    @classmethod
    def admit(cls, job_id: uuid.UUID) -> bool:
        """So many of one person run at once; the rest keeps its place and takes nobody's."""
        user_id = cls.objects.filter(pk=job_id).values_list("user_id", flat=True).first()
        if user_id is None:
            return False  # deleted meanwhile
        User.objects.select_for_update(no_key=True).get(pk=user_id)
        running = cls.live().filter(user_id=user_id, status=cls.RUNNING).exclude(pk=job_id)
        return running.count() < limits.MAX_RUNNING_BLOCK_RUNS_PER_USER

    @classmethod
    def startable(cls, queued: QuerySet[Any]) -> QuerySet[Any]:
        running = cls.live().filter(status=cls.RUNNING).order_by().values("user").annotate(count=Count("pk"))
        full = running.filter(count__gte=limits.MAX_RUNNING_BLOCK_RUNS_PER_USER)
        return queued.exclude(user__in=full.values("user"))

    def ended_unowned(self) -> None:
        if not self.error:
            self.error = ENDS.get(self.end_reason, ENDS["cancelled"])
            self.save(update_fields=["error"])

    def ended(self) -> None:
        """Inside the transaction that ends it: nobody needs the inputs any more, and they may be secret."""
        type(self).objects.filter(pk=self.pk).update(sealed_inputs="")

    def after_end(self) -> None:
        """Wake who waits for it, and poke the person's next."""
        log.nudge(self.pk)
        following = BlockRun.live().filter(user_id=self.user_id, status=BlockRun.QUEUED).order_by("queued_at")
        for job_id in following.values_list("pk", flat=True)[:1]:
            poke(BlockRun, job_id)
