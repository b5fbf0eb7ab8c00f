"""Admin page of single block runs. Their inputs are not shown."""

from __future__ import annotations

from django.contrib import admin

from durable.admin_jobs import AgeFilter, EndedFilter, JobActions, StuckFilter
from durable.admin_rows import PermanentRows
from executions.models import BlockRun


@admin.register(BlockRun)
class BlockRunAdmin(PermanentRows, JobActions, admin.ModelAdmin):  # type: ignore[type-arg]
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
    show_full_result_count = False
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
