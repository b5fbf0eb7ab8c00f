"""What every job list in the admin has: filters for stuck and old jobs, coloured states, release, fail."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from durable import cancellation, jobs
from durable.admin_actions import ActionsMixin, ago, asks_first
from durable.models import Job
from durable.pauses import has_user
from durable.publisher import poke

AGES = {
    "minute": ("older than a minute", timedelta(minutes=1)),
    "hour": ("older than an hour", timedelta(hours=1)),
    "day": ("older than a day", timedelta(days=1)),
    "week": ("older than a week", timedelta(days=7)),
}
ENDS = {
    "hour": ("in the last hour", timedelta(hours=1)),
    "day": ("in the last day", timedelta(days=1)),
    "week": ("in the last week", timedelta(days=7)),
}
FAIL_QUESTION = "This ends them now as failed. What they have done stays, what they had not finished is lost."
CANCEL_QUESTION = "This stops them permanently. What they have done stays; what waits for them is notified."


class StuckFilter(admin.SimpleListFilter):
    """Jobs whose row says running although their lease has expired."""

    title = "lease"
    parameter_name = "stuck"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "lease expired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() != "yes":
            return queryset
        return queryset.filter(jobs.left_behind(queryset.model), status__in=queryset.model.LIVE)


class AgeFilter(admin.SimpleListFilter):
    title = "age"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, text) for name, (text, _) in AGES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        age = AGES.get(self.value() or "")
        return queryset.filter(queued_at__lt=timezone.now() - age[1]) if age else queryset


class EndedFilter(admin.SimpleListFilter):
    title = "end"
    parameter_name = "ended"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, text) for name, (text, _) in ENDS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        end = ENDS.get(self.value() or "")
        return queryset.filter(ended_at__gt=timezone.now() - end[1]) if end else queryset


class JobActions(ActionsMixin):
    """Columns and actions for job lists; the actions are logged and need the change permission."""

    @admin.display(description="id", ordering="id")
    def short_id(self, job: Job) -> SafeString:
        """Return the end of the id; the beginning is the time and the same for all jobs of a day."""
        return format_html('<span title="{}">…{}</span>', job.pk, str(job.pk)[-8:])

    @admin.display(description="status", ordering="status")
    def state(self, job: Job) -> SafeString:
        stuck = not job.is_terminal and is_stuck(job)
        name = "stuck" if stuck else job.status.lower()
        text = f"{job.status}, lease expired" if stuck else job.status
        return format_html('<span class="state state-{}">{}</span>', name, text)

    @admin.display(description="queued", ordering="queued_at")
    def age(self, job: Job) -> SafeString:
        return ago(job.queued_at)

    @admin.display(description="took")
    def took(self, job: Job) -> str:
        if job.started_at is None:
            return "-"
        return f"{((job.ended_at or timezone.now()) - job.started_at).total_seconds():.1f} s"

    @admin.display(description="held by", ordering="owner")
    def holder(self, job: Job) -> str:
        if job.is_terminal or not job.owner:
            return "-"
        if job.lease_until and is_stuck(job):
            return f"{job.owner}, until {timesince(job.lease_until, depth=1)} ago"
        return job.owner

    def described(self, row: Job) -> dict[str, str]:
        return {
            "Id": self.short_id(row),
            "Person": str(getattr(row, "user", None) or "a visitor") if has_user(type(row)) else "-",
            "About": about(row),
            "Status": self.state(row),
            "Queued": self.age(row),
        }

    def fits(self, action: str, row: Job) -> bool:
        if action == "replay":
            return row.is_terminal
        if action in ("cancel", "mark_failed"):
            return not row.is_terminal
        return action != "release" or row.status == row.RUNNING

    def stop(self, job: Any) -> bool:
        """Ask a job to stop; return False if it had ended."""
        return cancellation.stop(type(job), job.pk)

    @admin.action(description="Cancel: stop it permanently", permissions=["change"])
    @asks_first(CANCEL_QUESTION)
    def cancel(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Request all stops without waiting for each; the list shows how the jobs end."""
        log_stops(self, request, [job for job in queryset if self.stop(job)])

    @admin.action(
        description="Release: take it from its worker, so that another continues it", permissions=["change"]
    )
    def release(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        given = [job for job in queryset if jobs.release(type(job), job.pk)]
        for job in given:
            poke(type(job), job.pk)
            self.log_change(request, job, "Released.")
        self.message_user(request, f"{len(given)} released; only what runs can be.")

    @admin.action(description="Mark failed: end it now, in any state", permissions=["change"])
    @asks_first(FAIL_QUESTION)
    def mark_failed(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        ended = [job for job in queryset if jobs.mark_failed(type(job), job.pk)]
        for job in ended:
            cancellation.broadcast(job.pk)
            self.log_change(request, job, "Marked failed.")
        self.message_user(request, f"{len(ended)} ended; those that had ended stay as they ended.")


def log_stops(page: admin.ModelAdmin[Any], request: HttpRequest, stopped: list[Any]) -> None:
    for job in stopped:
        page.log_change(request, job, "Cancelled.")
    page.message_user(
        request, f"Cancellation requested for {len(stopped)}; those that had already ended are unchanged."
    )


def is_stuck(job: Job) -> bool:
    """Apply the condition of `jobs.left_behind` to a loaded row."""
    return job.status == job.RUNNING and (job.lease_until is None or job.lease_until < timezone.now())


def about(job: Any) -> str:
    """Return the name of the conversation, agent, tool or endpoint a job belongs to."""
    if hasattr(job, "session"):
        return job.session.title or "No title yet"
    return str(
        next((getattr(job, name) for name in ("agent", "tool_name", "endpoint") if hasattr(job, name)), "-")
    )
