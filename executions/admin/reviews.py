"""Admin page of reviews."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from durable.admin_actions import ActionsMixin, asks_first
from durable.admin_rows import PermanentRows, act_on_each, shown
from executions.models import Review
from executions.reviews.decisions import decide

BY_AN_OPERATOR = "Rejected by an operator."


@admin.register(Review)
class ReviewAdmin(PermanentRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Reviews. Operators can reject one that nobody will decide; only its owner can approve it."""

    list_display = [
        "name",
        "state",
        "user",
        "execution",
        "asked_at",
        "expires_at",
        "decided_at",
        "decided_by",
    ]
    list_filter = ["state", "asked_at"]
    list_select_related = ["user", "execution", "decided_by"]
    search_fields = ["=id", "=execution__id", "=session_id", "name", "user__username"]
    ordering = ["-asked_at"]
    show_full_result_count = False
    actions = ["reject"]
    fields = readonly_fields = (
        "id",
        "user",
        "name",
        "state",
        "execution",
        "node_id",
        "session_id",
        "block_id",
        "editable",
        "asked_at",
        "expires_at",
        "decided_at",
        "decided_by",
        "message",
        "shown_data",
        "shown_decided_data",
    )

    @admin.action(description="Reject: what waits for it continues without approval", permissions=["change"])
    @asks_first("A rejection cannot be undone. What waits for these reviews continues without approval.")
    def reject(self, request: HttpRequest, chosen: QuerySet[Review]) -> None:
        by: Any = request.user
        act_on_each(
            self,
            request,
            chosen,
            lambda review: decide(review, approved=False, message=BY_AN_OPERATOR, by=by),
            done="rejected",
        )

    @admin.display(description="data")
    def shown_data(self, review: Review) -> str:
        return shown(review.data)

    @admin.display(description="decided data")
    def shown_decided_data(self, review: Review) -> str:
        return shown(review.decided_data)
