"""Block runs: one block by itself, asked for over HTTP and run by a worker."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from durable import encryption
from durable.models import Job
from executions.models.fields import OrderedJSON


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
        opened: dict[str, Any] = (
            json.loads(encryption.unseal(self.sealed_inputs)) if self.sealed_inputs else {}
        )
        return opened

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"block_id": self.block_id}
