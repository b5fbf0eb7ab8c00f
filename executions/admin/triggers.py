"""Triggers and the log of their calls, as operators see them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from rest_framework.exceptions import APIException

from executions.admin.showing import shown
from executions.models import Trigger, TriggerDelivery
from executions.triggers import delivering


@admin.register(Trigger)
class TriggerAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Triggers can be seen and switched off and on. They are made by their owners; nobody sees address or secret."""

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

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.action(description="Switch off: callers find nothing there", permissions=["change"])
    def switch_off(self, request: HttpRequest, chosen: QuerySet[Trigger]) -> None:
        self._switch(request, chosen, enabled=False)

    @admin.action(description="Switch on", permissions=["change"])
    def switch_on(self, request: HttpRequest, chosen: QuerySet[Trigger]) -> None:
        self._switch(request, chosen, enabled=True)

    def _switch(self, request: HttpRequest, chosen: QuerySet[Trigger], *, enabled: bool) -> None:
        word = "on" if enabled else "off"
        changed = list(chosen.exclude(enabled=enabled))
        for trigger in changed:
            Trigger.objects.filter(pk=trigger.pk).update(enabled=enabled)
            self.log_change(request, trigger, f"Switched {word}.")
        self.message_user(request, f"{len(changed)} switched {word}.")

    @admin.display(description="inputs")
    def shown_inputs(self, trigger: Trigger) -> str:
        return shown(trigger.inputs)


@admin.register(TriggerDelivery)
class TriggerDeliveryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Who called, what became of it, and the same once more."""

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

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description="Replay: start the agent once more with what was sent", permissions=["change"])
    def replay(self, request: HttpRequest, chosen: QuerySet[TriggerDelivery]) -> None:
        count = 0
        for delivery in chosen.select_related("trigger__user", "trigger__agent"):
            try:
                delivering.replay(delivery)
            except APIException as error:
                self.message_user(request, f"{delivery}: {error.detail}", messages.WARNING)
                continue
            self.log_change(request, delivery, "Replayed.")
            count += 1
        self.message_user(request, f"{count} replayed.")

    @admin.display(description="headers")
    def shown_headers(self, delivery: TriggerDelivery) -> str:
        return shown(delivery.headers)

    @admin.display(description="payload")
    def shown_payload(self, delivery: TriggerDelivery) -> str:
        return shown(delivery.payload)
