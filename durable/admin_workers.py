"""Workers and pauses, as operators see them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from durable.models import Pause, WorkerBeat


@admin.register(WorkerBeat)
class WorkerAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Who works. A drained worker gives its jobs to others and takes no more; then it can be stopped in peace."""

    list_display = ["name", "kind", "jobs", "started_at", "seen_at", "drain_requested_at"]
    list_filter = ["kind"]
    ordering = ["kind", "name"]
    actions = ["drain", "take_up"]
    fields = readonly_fields = ("name", "kind", "jobs", "started_at", "seen_at", "drain_requested_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description="Drain: give its jobs to others, take no more", permissions=["change"])
    def drain(self, request: HttpRequest, workers: QuerySet[WorkerBeat]) -> None:
        chosen = list(workers.filter(drain_requested_at=None))
        for worker in chosen:
            WorkerBeat.objects.filter(pk=worker.pk).update(drain_requested_at=timezone.now())
            self.log_change(request, worker, "Drained.")
        self.message_user(request, f"{len(chosen)} asked to drain; each obeys within a second or two.")

    @admin.action(description="Take up work again", permissions=["change"])
    def take_up(self, request: HttpRequest, workers: QuerySet[WorkerBeat]) -> None:
        chosen = list(workers.exclude(drain_requested_at=None))
        for worker in chosen:
            WorkerBeat.objects.filter(pk=worker.pk).update(drain_requested_at=None)
            self.log_change(request, worker, "Taken up again.")
        self.message_user(request, f"{len(chosen)} take up work again.")


@admin.register(Pause)
class PauseAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Add one to hold a queue or a person's jobs; delete it to let them go on. What runs already is not touched."""

    list_display = ["kind", "name", "reason", "created_at"]
    list_filter = ["kind"]
    fields = ("kind", "name", "reason")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
