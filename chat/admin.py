"""Admin of conversations: sessions, turns, messages, steps and attempts; cancel and requeue."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from chat import sessions, turns
from chat.errors import NothingToRetry
from chat.models import Attempt, Message, Session, Step, Turn
from durable.admin_actions import ActionsMixin, asks_first
from durable.admin_jobs import AgeFilter, EndedFilter, JobActions, StuckFilter, log_stops
from durable.admin_rows import PermanentRows, ViewOnlyRows, shown

RelatedOnly = admin.RelatedOnlyFieldListFilter
PREVIEW_CHARACTERS = 80
LISTED_TITLE_CHARACTERS = 24


class Unanswered(admin.SimpleListFilter):
    """Failed turns after which no turn of the session has completed."""

    title = "answer"
    parameter_name = "unanswered"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "failed and not answered since")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Turn]) -> QuerySet[Turn]:
        return turns.unanswered(queryset) if self.value() == "yes" else queryset


class ReadOnlyInline(ViewOnlyRows, admin.TabularInline):  # type: ignore[type-arg]
    extra = 0
    can_delete = False
    show_change_link = True


class AttemptInline(ReadOnlyInline):
    model = Attempt
    fields = readonly_fields = ("number", "owner", "first_step", "started_at")
    show_change_link = False


class StepInline(ReadOnlyInline):
    model = Step
    fields = readonly_fields = (
        "number",
        "attempt",
        "whole",
        "finish_reason",
        "model_name",
        "cost",
        "created_at",
    )


class MessageInline(ReadOnlyInline):
    model = Message
    fields = readonly_fields = ("seq", "role", "preview", "created_at")
    ordering = ("seq",)

    @admin.display(description="text")
    def preview(self, message: Message) -> str:
        return preview_of(message)


class TurnInline(ReadOnlyInline):
    model = Turn
    fk_name = "session"
    fields = readonly_fields = ("status", "end_reason", "kind", "attempt", "queued_at", "ended_at")
    ordering = ("-queued_at",)


@admin.register(Session)
class SessionAdmin(PermanentRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("__str__", "user", "visitor_id", "pinned", "parent", "depth", "created_at", "active_at")
    list_filter = ("pinned", "active_at")
    list_select_related = ("user", "parent")
    search_fields = ("=id", "title", "user__username", "client_key")
    ordering = ("-active_at",)
    show_full_result_count = False
    fields = readonly_fields = (
        "id",
        "title",
        "titled_by",
        "user",
        "visitor_id",
        "client_key",
        "pinned",
        "parent",
        "depth",
        "permissions",
        "summary",
        "created_at",
        "active_at",
    )
    inlines = (TurnInline,)
    actions = ("cancel_all",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Require no separate permission for the rows of the session."""
        shown, counts, _, protected = super().get_deleted_objects(objs, request)
        return shown, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Session) -> None:
        sessions.delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        for session in queryset:
            sessions.delete(session)

    @admin.action(description="Cancel all running and queued turns", permissions=["change"])
    @asks_first(
        "This permanently stops every running and queued turn of these conversations.",
        button="Cancel all turns in {rows}",
    )
    def cancel_all(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        live = Turn.live().filter(session__in=queryset)
        log_stops(self, request, [turn for turn in live if turns.stop(turn)])


@admin.register(Turn)
class TurnAdmin(PermanentRows, JobActions, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = (
        "short_id",
        "story",
        "state",
        "end_reason",
        "user",
        "session_title",
        "age",
        "took",
        "attempt",
        "cost",
        "holder",
    )
    list_filter = (
        "status",
        "end_reason",
        StuckFilter,
        Unanswered,
        AgeFilter,
        EndedFilter,
        ("user", RelatedOnly),
        "kind",
        "mode",
    )
    list_select_related = ("user", "session")
    search_fields = ("=id", "=session__id", "=answer_id", "user__username", "owner", "=client_id")
    ordering = ("-queued_at",)
    show_full_result_count = False
    date_hierarchy = "queued_at"
    fields = readonly_fields = (
        "timeline",
        "id",
        "session",
        "user",
        "status",
        "end_reason",
        "error",
        "kind",
        "mode",
        "client_id",
        "answer_id",
        "absorbed_by",
        "superseded_at",
        "attempt",
        "crashes",
        "owner",
        "lease_until",
        "poked_at",
        "run_at",
        "cancel_requested_at",
        "queued_at",
        "started_at",
        "ended_at",
        "model_name",
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "reasoning_tokens",
        "cost",
        "files_seen",
        "tool_calls",
    )
    inlines = (MessageInline, StepInline, AttemptInline)
    actions = ("cancel", "requeue", "release", "mark_failed")

    @admin.display(description="tool calls")
    def tool_calls(self, turn: Turn) -> str:
        address = reverse("admin:tools_toolcall_changelist")
        return format_html('<a href="{}?q={}">Tool calls of this turn</a>', address, turn.pk)

    @admin.display(description="timeline")
    def timeline(self, turn: Turn) -> str:
        return format_html('<a href="{}">All events in order</a>', reverse("admin:timeline", args=[turn.pk]))

    @admin.display(description="timeline")
    def story(self, turn: Turn) -> str:
        return format_html('<a href="{}">Timeline</a>', reverse("admin:timeline", args=[turn.pk]))

    @admin.display(description="session", ordering="session__title")
    def session_title(self, turn: Turn) -> str:
        title = turn.session.title or f"…{str(turn.session_id)[-8:]}"
        return title if len(title) <= LISTED_TITLE_CHARACTERS else f"{title[:LISTED_TITLE_CHARACTERS]}…"

    def stop(self, job: Turn) -> bool:
        return turns.stop(job)

    @admin.action(
        description="Requeue: ended turns as new ones, stuck turns to another worker", permissions=["change"]
    )
    def requeue(self, request: HttpRequest, queryset: QuerySet[Turn]) -> None:
        count = 0
        for turn in queryset.select_related("session", "session__user"):
            try:
                fresh = turns.requeue(turn)
            except NothingToRetry:
                self.message_user(
                    request,
                    f"Turn {turn.pk} has no message of its own, so it cannot be requeued.",
                    messages.WARNING,
                )
                continue
            change = f"Requeued as turn {fresh.pk}." if fresh.pk != turn.pk else "Requeued."
            self.log_change(request, turn, change)
            count += 1
        self.message_user(request, f"{count} requeued.")


@admin.register(Message)
class MessageAdmin(ViewOnlyRows, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("id", "role", "session", "turn", "seq", "preview", "created_at")
    list_filter = ("role", "created_at")
    list_select_related = ("session", "turn")
    search_fields = ("=id", "=session__id", "=turn__id", "text")
    ordering = ("-created_at",)
    show_full_result_count = False
    fields = readonly_fields = (
        "id",
        "session",
        "turn",
        "role",
        "seq",
        "text",
        "attachments",
        "context",
        "steered_step",
        "created_at",
    )

    @admin.display(description="text")
    def preview(self, message: Message) -> str:
        return preview_of(message)


@admin.register(Step)
class StepAdmin(ViewOnlyRows, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("turn", "number", "attempt", "whole", "finish_reason", "model_name", "cost", "created_at")
    list_filter = ("whole", "finish_reason", "model_name")
    list_select_related = ("turn",)
    search_fields = ("=turn__id", "=turn__session__id")
    ordering = ("-id",)
    show_full_result_count = False
    fields = readonly_fields = (
        "turn",
        "number",
        "attempt",
        "whole",
        "finish_reason",
        "model_name",
        "input_tokens",
        "output_tokens",
        "cost",
        "shown_parts",
        "created_at",
    )

    @admin.display(description="parts")
    def shown_parts(self, step: Step) -> str:
        return format_html("<pre>{}</pre>", shown(step.parts))


@admin.register(Attempt)
class AttemptAdmin(ViewOnlyRows, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("turn", "number", "owner", "first_step", "started_at")
    list_select_related = ("turn",)
    search_fields = ("=turn__id", "owner")
    ordering = ("-id",)
    show_full_result_count = False
    fields = readonly_fields = ("turn", "number", "owner", "first_step", "started_at")


def preview_of(message: Message) -> str:
    text = message.text[:PREVIEW_CHARACTERS]
    return f"{text}…" if len(message.text) > PREVIEW_CHARACTERS else text
