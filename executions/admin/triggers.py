"""Admin pages of triggers and their call log."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from durable.admin_actions import ActionsMixin
from durable.admin_rows import GeneratedRows, PermanentRows, act_on_each, shown
from executions.models import Trigger, TriggerDelivery
from executions.triggers import actions as trigger_actions
from executions.triggers import dispatch


@admin.register(Trigger)
class TriggerAdmin(GeneratedRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Triggers without address and secret. Users create them; operators can switch them on and off."""

    list_display = ["name", "user", "agent", "scheme", "enabled", "created_at", "called_at"]
    list_filter = ["enabled", "scheme"]
    list_select_related = ["user", "agent"]
    search_fields = ["=id", "name", "=agent__id", "agent__name", "user__username"]
    ordering = ["-created_at"]
    actions = ["switch_off", "switch_on"]
    fields = readonly_fields = (
        "id",
        "user",
        "name",
        "agent",
        "version",
        "node_id",
        "scheme",
        "old_secret_until",
        "enabled",
        "created_at",
        "called_at",
        "shown_inputs",
    )

    @admin.action(description="Switch off: callers get 404", permissions=["change"])
    def switch_off(self, request: HttpRequest, chosen: QuerySet[Trigger]) -> None:
        enabled = chosen.filter(enabled=True)
        act_on_each(
            self,
            request,
            enabled,
            lambda row: trigger_actions.change(row, enabled=False),
            done="switched off",
        )

    @admin.action(description="Switch on", permissions=["change"])
    def switch_on(self, request: HttpRequest, chosen: QuerySet[Trigger]) -> None:
        disabled = chosen.filter(enabled=False)
        act_on_each(
            self, request, disabled, lambda row: trigger_actions.change(row, enabled=True), done="switched on"
        )

    @admin.display(description="inputs")
    def shown_inputs(self, trigger: Trigger) -> str:
        return shown(trigger.inputs)


@admin.register(TriggerDelivery)
class TriggerDeliveryAdmin(PermanentRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """The calls of triggers and their results. Operators can replay a call."""

    list_display = ["trigger", "state", "delivery_key", "execution", "tries", "error", "received_at"]
    list_filter = ["state", "received_at"]
    list_select_related = ["trigger", "execution"]
    search_fields = ["=id", "=trigger__id", "trigger__name", "trigger__user__username", "=execution__id"]
    ordering = ["-received_at"]
    show_full_result_count = False
    actions = ["replay"]
    fields = readonly_fields = (
        "id",
        "trigger",
        "state",
        "error",
        "delivery_key",
        "execution",
        "replay_of",
        "tries",
        "due_at",
        "received_at",
        "shown_headers",
        "shown_payload",
    )

    @admin.action(description="Replay: start the agent again with the same data", permissions=["change"])
    def replay(self, request: HttpRequest, chosen: QuerySet[TriggerDelivery]) -> None:
        deliveries = chosen.select_related("trigger__user", "trigger__agent")
        act_on_each(self, request, deliveries, dispatch.replay, done="replayed")

    @admin.display(description="headers")
    def shown_headers(self, delivery: TriggerDelivery) -> str:
        return shown(delivery.headers)

    @admin.display(description="payload")
    def shown_payload(self, delivery: TriggerDelivery) -> str:
        return shown(delivery.payload)
