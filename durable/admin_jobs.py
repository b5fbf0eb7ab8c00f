"""What every list of jobs in the admin can do: find the stuck and the old, release, mark failed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from durable import bell, jobs
from durable.models import Job
from durable.poke import poke

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = object

AGES = {
    "hour": ("older than an hour", timedelta(hours=1)),
    "day": ("older than a day", timedelta(days=1)),
    "week": ("older than a week", timedelta(days=7)),
}


class Stuck(admin.SimpleListFilter):
    """Jobs that run by their row, and whose lease is over."""

    title = "lease"
    parameter_name = "stuck"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "over: nobody holds it")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(jobs.left_behind(queryset.model)) if self.value() == "yes" else queryset


class Age(admin.SimpleListFilter):
    title = "age"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, text) for name, (text, _) in AGES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        age = AGES.get(self.value() or "")
        return queryset.filter(queued_at__lt=timezone.now() - age[1]) if age else queryset


class JobActions(Base):
    """Two actions for lists of jobs; both are written down and need the permission to change."""

    @admin.action(
        description="Release: take it from its worker, for another to go on with", permissions=["change"]
    )
    def release(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        given = [job for job in queryset if jobs.release(type(job), job.pk)]
        for job in given:
            poke(type(job), job.pk)
            self._note(request, job, "Released.")
        self.message_user(request, f"{len(given)} released; only what runs can be.")

    @admin.action(description="Mark failed: end it now, whatever it is at", permissions=["change"])
    def mark_failed(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        ended = [job for job in queryset if jobs.mark_failed(type(job), job.pk)]
        for job in ended:
            bell.ring(job.pk)
            self._note(request, job, "Marked failed.")
        self.message_user(request, f"{len(ended)} ended; those that had ended stay as they ended.")

    def _note(self, request: HttpRequest, job: Job, text: str) -> None:
        self.log_change(request, job, text)
