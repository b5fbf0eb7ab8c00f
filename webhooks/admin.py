"""Admin pages of endpoints and deliveries."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from durable.admin_actions import ActionsMixin
from durable.admin_jobs import AgeFilter, EndedFilter, JobActions, StuckFilter
from durable.admin_rows import GeneratedRows, PermanentRows, act_on_each, shown
from webhooks import deliveries, endpoints
from webhooks.endpoints import disable
from webhooks.models import PushNotice, PushSubscription, WebhookDelivery, WebhookEndpoint


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(GeneratedRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Endpoints can be disabled and enabled. Their owners create them, and secrets are never shown."""

    list_display = ["__str__", "user", "url", "enabled", "disabled_reason", "failing_since", "created_at"]
    list_filter = ["enabled"]
    list_select_related = ["user"]
    search_fields = ["=id", "url", "description", "user__username"]
    fields = readonly_fields = (
        "id",
        "user",
        "url",
        "description",
        "events",
        "enabled",
        "disabled_reason",
        "failing_since",
        "old_secret_until",
        "created_at",
    )
    actions = ["switch_off", "switch_on"]

    @admin.action(description="Disable: send nothing more", permissions=["change"])
    def switch_off(self, request: HttpRequest, chosen: QuerySet[WebhookEndpoint]) -> None:
        enabled = list(chosen.filter(enabled=True))
        for endpoint in enabled:
            disable(endpoint, "An operator disabled it.")
            endpoint.save(update_fields=["enabled", "disabled_reason"])
            self.log_change(request, endpoint, "Disabled.")
        self.message_user(request, f"Disabled: {len(enabled)}.")

    @admin.action(description="Enable again", permissions=["change"])
    def switch_on(self, request: HttpRequest, chosen: QuerySet[WebhookEndpoint]) -> None:
        disabled = list(chosen.filter(enabled=False))
        for endpoint in disabled:
            endpoints.change(endpoint, enabled=True)
            self.log_change(request, endpoint, "Enabled.")
        self.message_user(request, f"Enabled: {len(disabled)}.")


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(PermanentRows, JobActions, admin.ModelAdmin):  # type: ignore[type-arg]
    """Deliveries with their attempts and results; they can be replayed."""

    list_display = [
        "event_type",
        "state",
        "end_reason",
        "endpoint",
        "tries",
        "response_status",
        "error",
        "age",
        "tried_at",
        "run_at",
    ]
    list_filter = [
        "status",
        "end_reason",
        StuckFilter,
        AgeFilter,
        EndedFilter,
        "event_type",
        ("endpoint__user", admin.RelatedOnlyFieldListFilter),
    ]
    list_select_related = ["endpoint"]
    search_fields = ["=id", "=event_id", "=endpoint__id", "endpoint__url", "endpoint__user__username"]
    ordering = ["-queued_at"]
    show_full_result_count = False
    actions = ["replay", "release", "mark_failed"]
    fields = readonly_fields = (
        "id",
        "endpoint",
        "event_id",
        "event_type",
        "status",
        "end_reason",
        "error",
        "tries",
        "tried_at",
        "run_at",
        "response_status",
        "response_excerpt",
        "attempt",
        "crashes",
        "owner",
        "queued_at",
        "ended_at",
        "shown_payload",
    )

    @admin.action(description="Replay: send it again", permissions=["change"])
    def replay(self, request: HttpRequest, chosen: QuerySet[WebhookDelivery]) -> None:
        act_on_each(self, request, chosen, deliveries.replay, done="replayed")

    @admin.display(description="payload")
    def shown_payload(self, delivery: WebhookDelivery) -> str:
        return shown(delivery.payload)


@admin.register(PushSubscription)
class PushSubscriptionAdmin(GeneratedRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """Devices for push messages; their addresses are secrets of the browsers and never shown."""

    list_display = ["__str__", "user", "host", "created_at", "used_at"]
    list_select_related = ["user"]
    search_fields = ["=id", "user__username", "host"]
    fields = readonly_fields = ("id", "user", "name", "host", "language", "created_at", "used_at")


@admin.register(PushNotice)
class PushNoticeAdmin(PermanentRows, JobActions, admin.ModelAdmin):  # type: ignore[type-arg]
    """Notices and how each of them reached its person."""

    list_display = ["kind", "state", "end_reason", "user", "tries", "error", "age", "run_at", "seen_at"]
    list_filter = ["status", "end_reason", StuckFilter, AgeFilter, EndedFilter, "kind"]
    list_select_related = ["user"]
    search_fields = ["=id", "=event_id", "user__username"]
    ordering = ["-queued_at"]
    show_full_result_count = False
    actions = ["release", "mark_failed"]
    fields = readonly_fields = (
        "id",
        "user",
        "event_id",
        "kind",
        "subject",
        "url",
        "status",
        "end_reason",
        "error",
        "seen_at",
        "delivered_to",
        "tries",
        "run_at",
        "attempt",
        "crashes",
        "owner",
        "queued_at",
        "ended_at",
    )
