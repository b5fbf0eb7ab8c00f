"""Admin pages of tool calls, rules for tools, operations, follow-ups, feature requests and facts about users."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from durable.admin_actions import ActionsMixin
from durable.admin_jobs import AgeFilter, EndedFilter, JobActions, StuckFilter
from durable.admin_rows import GeneratedRows, PermanentRows, ViewOnlyRows, act_on_each, shown
from durable.publisher import poke
from tools import follow_up_actions
from tools.models import (
    FeatureRequest,
    FeatureSupport,
    FollowUp,
    Operation,
    ToolCall,
    ToolPolicy,
    Understanding,
)


@admin.register(ToolCall)
class ToolCallAdmin(ViewOnlyRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """Tool calls with their arguments and results; read-only, because they record what happened."""

    list_display = ["name", "state", "effect", "user", "turn_id", "step", "attempt", "started_at", "ended_at"]
    list_filter = ["state", "effect", "name"]
    list_select_related = ["user"]
    search_fields = ["=turn_id", "=session_id", "name", "user__username"]
    ordering = ["-id"]
    show_full_result_count = False
    fields = readonly_fields = (
        "name",
        "state",
        "effect",
        "user",
        "session_id",
        "turn_id",
        "step",
        "index",
        "call_id",
        "attempt",
        "started_at",
        "ended_at",
        "cancel_requested_at",
        "error",
        "shown_arguments",
        "shown_result",
    )

    @admin.display(description="arguments")
    def shown_arguments(self, call: ToolCall) -> str:
        return show_json(call.arguments)

    @admin.display(description="result")
    def shown_result(self, call: ToolCall) -> str:
        return show_json(call.result)


@admin.register(Operation)
class OperationAdmin(PermanentRows, JobActions, admin.ModelAdmin):  # type: ignore[type-arg]
    """Operations can be cancelled, requeued, released and marked as failed."""

    list_display = [
        "tool_name",
        "state",
        "end_reason",
        "progress",
        "user",
        "age",
        "took",
        "attempt",
        "holder",
        "external",
        "completed_by",
    ]
    list_filter = [
        "status",
        "end_reason",
        StuckFilter,
        AgeFilter,
        EndedFilter,
        ("user", admin.RelatedOnlyFieldListFilter),
        "tool_name",
        "external",
        "completed_by",
    ]
    list_select_related = ["user"]
    search_fields = ["=id", "=task_id", "=session_id", "=turn_id", "user__username"]
    ordering = ["-queued_at"]
    show_full_result_count = False
    actions = ["cancel", "requeue", "release", "mark_failed"]
    fields = readonly_fields = (
        "id",
        "task_id",
        "tool_name",
        "status",
        "end_reason",
        "progress",
        "message",
        "error",
        "user",
        "session_id",
        "turn_id",
        "call_id",
        "attempt",
        "crashes",
        "owner",
        "lease_until",
        "external",
        "answer_due_at",
        "completed_by",
        "queued_at",
        "started_at",
        "ended_at",
        "cancel_requested_at",
        "shown_arguments",
        "shown_result",
    )

    @admin.action(description="Requeue: let another worker take it now", permissions=["change"])
    def requeue(self, request: HttpRequest, operations: QuerySet[Operation]) -> None:
        """Let another worker claim the operations; the current worker is fenced by the next claim."""
        count = 0
        for operation in operations.filter(status__in=[Operation.QUEUED, Operation.RUNNING]):
            given_back = Operation.objects.filter(pk=operation.pk, status=Operation.RUNNING)
            given_back.update(lease_until=None, owner="")
            poke(Operation, operation.pk)
            self.log_change(request, operation, "Requeued.")
            count += 1
        self.message_user(request, f"{count} requeued; waiting and ended operations were not changed.")

    @admin.display(description="arguments")
    def shown_arguments(self, operation: Operation) -> str:
        return show_json(operation.arguments)

    @admin.display(description="result")
    def shown_result(self, operation: Operation) -> str:
        return show_json(operation.result)


@admin.register(FollowUp)
class FollowUpAdmin(GeneratedRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Turns that conversations asked for later. Users make them in chat; an operator can run and cancel them."""

    list_display = ["id", "user", "cron", "timezone", "fresh", "next_run_at", "last_run_at", "last_error"]
    list_filter = [("next_run_at", admin.EmptyFieldListFilter), "fresh", "timezone"]
    list_select_related = ["user"]
    search_fields = ["=id", "=session_id", "user__username"]
    ordering = ["-created_at"]
    show_full_result_count = False
    actions = ["run", "cancel"]
    fields = readonly_fields = (
        "id",
        "user",
        "session_id",
        "cron",
        "timezone",
        "fresh",
        "next_run_at",
        "last_run_at",
        "last_session_id",
        "last_error",
        "created_at",
        "shown_prompt",
        "shown_permissions",
        "outside_sources",
    )

    @admin.action(description="Run now, within a second", permissions=["change"])
    def run(self, request: HttpRequest, chosen: QuerySet[FollowUp]) -> None:
        act_on_each(self, request, chosen, follow_up_actions.run_now, done="due now")

    @admin.action(description="Cancel", permissions=["change"])
    def cancel(self, request: HttpRequest, chosen: QuerySet[FollowUp]) -> None:
        coming = chosen.exclude(next_run_at=None)
        act_on_each(self, request, coming, follow_up_actions.cancel, done="cancelled")

    @admin.display(description="prompt")
    def shown_prompt(self, row: FollowUp) -> str:
        return shown(row.prompt)

    @admin.display(description="permissions")
    def shown_permissions(self, row: FollowUp) -> str:
        return shown(row.permissions)


@admin.register(FeatureRequest)
class FeatureRequestAdmin(GeneratedRows, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["title", "status", "created_at"]
    list_filter = ["status"]
    list_editable = ["status"]
    search_fields = ["title", "description"]


@admin.register(FeatureSupport)
class FeatureSupportAdmin(GeneratedRows, admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["request", "user", "created_at"]
    list_select_related = ["request", "user"]
    readonly_fields = ["request", "user", "description", "is_first"]


@admin.register(Understanding)
class UnderstandingAdmin(GeneratedRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """Facts can be viewed and deleted, so that a user's request to be forgotten can be fulfilled."""

    list_display = ["user", "updated_at"]
    list_select_related = ["user"]
    readonly_fields = ["user", "facts", "updated_at"]


def show_json(value: Any) -> str:
    """Return JSON without secrets. Text that is not JSON is not shown, because it may contain anything."""
    if isinstance(value, str):
        return f"[{len(value):,} characters that are not JSON]"
    return shown(value)


@admin.register(ToolPolicy)
class ToolPolicyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rules for tools: allow, ask, deny. One without a user is the site's, and its deny cannot be lifted."""

    list_display = ["tool_name", "rule", "user", "session_id", "changed_at"]
    list_filter = ["rule"]
    list_select_related = ["user"]
    search_fields = ["tool_name", "user__username", "=session_id"]
    fields = ("tool_name", "rule", "user", "session_id")
    autocomplete_fields = ("user",)
