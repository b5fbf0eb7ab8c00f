"""Tool calls, operations, learned facts and wishes, as operators see them."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from durable.admin_acting import asks_first
from durable.admin_jobs import CANCEL_QUESTION, Age, Ended, JobActions, Stuck
from durable.poke import poke
from durable.redaction import redact
from tools.models import FeatureRequest, FeatureSupport, Operation, ToolCall, Understanding
from tools.operations import cancelling

SHOWN_CHARACTERS = 20_000


@admin.register(ToolCall)
class ToolCallAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """What the model asked for and what came of it. Read only: the rows are the memory of what happened."""

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

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="arguments")
    def shown_arguments(self, call: ToolCall) -> str:
        return shown(call.arguments)

    @admin.display(description="result")
    def shown_result(self, call: ToolCall) -> str:
        return shown(call.result)


@admin.register(Operation)
class OperationAdmin(JobActions, admin.ModelAdmin):  # type: ignore[type-arg]
    """Long work: what it is at, and stopping it or having another worker take it."""

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
        Stuck,
        Age,
        Ended,
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

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description="Cancel: stop it for good", permissions=["change"])
    @asks_first(CANCEL_QUESTION)
    def cancel(self, request: HttpRequest, operations: QuerySet[Operation]) -> None:
        stopped = [operation for operation in operations if cancelling.stop(operation.pk)]
        for operation in stopped:
            self.log_change(request, operation, "Cancelled.")
        self.message_user(
            request, f"{len(stopped)} asked to stop; operations that had ended stay as they ended."
        )

    @admin.action(description="Requeue: let another worker take it now", permissions=["change"])
    def requeue(self, request: HttpRequest, operations: QuerySet[Operation]) -> None:
        """Its present worker, should there be one, is fenced by the next claim."""
        count = 0
        for operation in operations.filter(status__in=[Operation.QUEUED, Operation.RUNNING]):
            given_back = Operation.objects.filter(pk=operation.pk, status=Operation.RUNNING)
            given_back.update(lease_until=None, owner="")
            poke(Operation, operation.pk)
            self.log_change(request, operation, "Given to another worker.")
            count += 1
        self.message_user(request, f"{count} requeued; waiting and ended operations were left alone.")

    @admin.display(description="arguments")
    def shown_arguments(self, operation: Operation) -> str:
        return shown(operation.arguments)

    @admin.display(description="result")
    def shown_result(self, operation: Operation) -> str:
        return shown(operation.result)


@admin.register(FeatureRequest)
class FeatureRequestAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["title", "status", "created_at"]
    list_filter = ["status"]
    list_editable = ["status"]
    search_fields = ["title", "description"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(FeatureSupport)
class FeatureSupportAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["request", "user", "created_at"]
    list_select_related = ["request", "user"]
    readonly_fields = ["request", "user", "description", "is_first"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(Understanding)
class UnderstandingAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Facts can be seen and deleted, so that a person's wish to be forgotten can be met."""

    list_display = ["user", "updated_at"]
    list_select_related = ["user"]
    readonly_fields = ["user", "facts", "updated_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


def shown(value: Any) -> str:
    """JSON with secrets blotted out. Text that could not be read as JSON is not shown: it may hold anything."""
    if isinstance(value, str):
        return f"[{len(value):,} characters that are not JSON]"
    return json.dumps(redact(value), indent=2, ensure_ascii=False)[:SHOWN_CHARACTERS]
