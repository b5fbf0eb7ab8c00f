"""Admin of workers, pauses and stream entries that could not be handled."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from durable import pauses, stream_consumer, sweep, worker_state
from durable.admin_actions import ActionsMixin, ago, asks_first
from durable.admin_rows import GeneratedRows, PermanentRows, shown
from durable.database import after_commit
from durable.models import ParkedEntry, Pause, WorkerBeat
from durable.redis import RedisError

FORGET_QUESTION = "The row is removed. If the worker is still alive, it appears again."


@admin.register(ParkedEntry)
class ParkedEntryAdmin(GeneratedRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Replay puts an entry back at the end of its stream; drop forgets it."""

    list_display = ["entry_id", "stream", "state", "tries", "error", "first_seen_at"]
    list_filter = ["state", "stream"]
    search_fields = ["=entry_id"]
    ordering = ["-first_seen_at"]
    actions = ["replay", "drop"]
    fields = readonly_fields = (
        "stream",
        "group",
        "entry_id",
        "state",
        "tries",
        "error",
        "first_seen_at",
        "changed_at",
        "shown_fields",
    )

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Remove Django's own delete action, which would also take entries that are being retried."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def fits(self, action: str, row: ParkedEntry) -> bool:
        wanted = {"replay": [ParkedEntry.State.PARKED]}
        return row.state in wanted.get(action, [ParkedEntry.State.PARKED, ParkedEntry.State.REPLAYED])

    @admin.action(description="Replay: put back at the end of the stream", permissions=["change"])
    def replay(self, request: HttpRequest, entries: QuerySet[ParkedEntry]) -> None:
        count = 0
        try:
            for entry in entries:
                if stream_consumer.replay(entry):
                    self.log_change(request, entry, "Replayed.")
                    count += 1
        except (RedisError, OSError):
            self.message_user(request, "Redis does not answer. Try again.", messages.ERROR)
        self.message_user(request, f"{count} replayed; entries that are not parked were left alone.")

    @admin.action(description="Drop: forget parked and replayed entries", permissions=["delete"])
    @asks_first("These entries are deleted. Jobs that wait for them continue to wait until their deadline.")
    def drop(self, request: HttpRequest, entries: QuerySet[ParkedEntry]) -> None:
        done = entries.exclude(state=ParkedEntry.State.RETRYING)
        self.log_deletions(request, done)
        self.message_user(request, f"{done.delete()[0]} dropped.")

    @admin.display(description="fields")
    def shown_fields(self, entry: ParkedEntry) -> str:
        return shown(entry.fields)


@admin.register(WorkerBeat)
class WorkerAdmin(PermanentRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Workers. A drained worker hands its jobs over and takes no more, so that it can be stopped safely."""

    list_display = ["name", "state", "kind", "jobs", "seen", "started_at"]
    list_filter = ["kind"]
    ordering = ["kind", "name"]
    actions = ["drain", "take_up", "forget"]
    fields = readonly_fields = (
        "name",
        "state",
        "kind",
        "jobs",
        "started_at",
        "seen_at",
        "drain_requested_at",
    )

    def fits(self, action: str, row: WorkerBeat) -> bool:
        states = {
            "drain": worker_state.ALIVE,
            "take_up": worker_state.DRAINING,
            "forget": worker_state.SILENT,
        }
        return worker_state.state_of(row) == states[action]

    @admin.display(description="state")
    def state(self, worker: WorkerBeat) -> SafeString:
        state = worker_state.state_of(worker)
        return format_html('<span class="state state-{}">{}</span>', state, state)

    @admin.display(description="last sign of life", ordering="seen_at")
    def seen(self, worker: WorkerBeat) -> SafeString:
        return ago(worker.seen_at)

    @admin.action(description="Drain: give its jobs to others, take no more", permissions=["change"])
    def drain(self, request: HttpRequest, workers: QuerySet[WorkerBeat]) -> None:
        chosen = list(workers.filter(drain_requested_at=None))
        for worker in chosen:
            WorkerBeat.objects.filter(pk=worker.pk).update(drain_requested_at=timezone.now())
            self.log_change(request, worker, "Drained.")
        after_commit(sweep.broadcast)
        self.message_user(request, f"{len(chosen)} asked to drain; each obeys within a second or two.")

    @admin.action(description="Take up work again", permissions=["change"])
    def take_up(self, request: HttpRequest, workers: QuerySet[WorkerBeat]) -> None:
        chosen = list(workers.exclude(drain_requested_at=None))
        for worker in chosen:
            WorkerBeat.objects.filter(pk=worker.pk).update(drain_requested_at=None)
            self.log_change(request, worker, "Taken up again.")
        after_commit(sweep.broadcast)
        self.message_user(request, f"{len(chosen)} take up work again.")

    @admin.action(description="Forget: it will not come back", permissions=["change"])
    @asks_first(FORGET_QUESTION)
    def forget(self, request: HttpRequest, workers: QuerySet[WorkerBeat]) -> None:
        silent = list(workers.filter(seen_at__lte=worker_state.fresh_since()))
        for worker in silent:
            self.log_change(request, worker, "Forgotten.")
            WorkerBeat.objects.filter(pk=worker.pk, seen_at__lte=worker_state.fresh_since()).delete()
        self.message_user(request, f"{len(silent)} forgotten; only silent workers can be.")


@admin.register(Pause)
class PauseAdmin(ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Add a pause to hold a queue or a user's jobs, resume to release them. Running jobs are not affected."""

    list_display = ["what", "kind", "reason", "created_at"]
    list_filter = ["kind"]
    fields = ("kind", "name", "reason")
    actions = ["resume"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Remove Django's own delete action; `resume` replaces it."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    @admin.display(description="paused", ordering="name")
    def what(self, pause: Pause) -> str:
        if pause.kind == Pause.Kind.QUEUE:
            return f"the queue {pause.name}"
        person = get_user_model().objects.filter(pk=pause.name).first() if pause.name.isdecimal() else None
        return str(person or f"user {pause.name}")

    @admin.action(description="Resume: let these jobs start again", permissions=["delete"])
    def resume(self, request: HttpRequest, rows: QuerySet[Pause]) -> None:
        chosen = list(rows)
        self.log_deletions(request, rows)
        resumed = [pause for pause in chosen if pauses.resume(pause.kind, pause.name)]
        self.message_user(request, f"Resumed: {len(resumed)}.")
