"""Admin page of single block runs. Their inputs are not shown."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from durable import cancellation
from durable.admin_actions import asks_first
from durable.admin_jobs import CANCEL_QUESTION, AgeFilter, EndedFilter, JobActions, StuckFilter
from executions.admin.executions import ReadOnlyExecutionAdmin
from executions.models import BlockRun


@admin.register(BlockRun)
class BlockRunAdmin(JobActions, ReadOnlyExecutionAdmin):
    """Running and waiting block runs. Operators can cancel them."""

    list_display = ["block_id", "state", "end_reason", "user", "age", "took", "attempt", "holder"]
    list_filter = [
        "status",
        "end_reason",
        StuckFilter,
        AgeFilter,
        EndedFilter,
        ("user", admin.RelatedOnlyFieldListFilter),
    ]
    list_select_related = ["user"]
    search_fields = ["=id", "=block_id", "=client_id", "user__username"]
    ordering = ["-queued_at"]
    actions = ["cancel", "release", "mark_failed"]
    fields = readonly_fields = (
        "id",
        "block_id",
        "user",
        "client_id",
        "status",
        "end_reason",
        "error",
        "attempt",
        "crashes",
        "owner",
        "lease_until",
        "queued_at",
        "started_at",
        "ended_at",
        "cancel_requested_at",
    )

    @admin.action(description="Cancel: stop it permanently", permissions=["change"])
    @asks_first(CANCEL_QUESTION)
    def cancel(self, request: HttpRequest, runs: QuerySet[BlockRun]) -> None:
        stopped = [run for run in runs if cancellation.stop(BlockRun, run.pk)]
        for run in stopped:
            self.log_change(request, run, "Cancelled.")
        self.message_user(request, f"{len(stopped)} cancelled; runs that had already ended are unchanged.")
