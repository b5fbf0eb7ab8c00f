"""Serializers of webhook endpoints and deliveries."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from boundary.errors import BlockedUrl
from webhooks import limits
from webhooks.endpoints import check_url
from webhooks.events import OFFERED
from webhooks.models import WebhookDelivery, WebhookEndpoint

KINDS = [kind.value for kind in OFFERED]


class WebhookEndpointSerializer(serializers.ModelSerializer[WebhookEndpoint]):
    """An endpoint without its secret."""

    url = serializers.CharField(max_length=limits.MAX_WEBHOOK_URL_CHARACTERS)
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=KINDS),
        min_length=1,
        max_length=len(KINDS),
        default=KINDS,
        help_text="The event types it receives; default: all.",
    )

    class Meta:
        model = WebhookEndpoint
        fields = [
            "id",
            "url",
            "description",
            "events",
            "enabled",
            "disabled_reason",
            "failing_since",
            "created_at",
        ]
        read_only_fields = ["disabled_reason", "failing_since", "created_at"]

    def validate_url(self, url: str) -> str:
        try:
            check_url(url)
        except BlockedUrl as error:
            raise serializers.ValidationError(str(error)) from error
        return url

    def validate_events(self, events: list[str]) -> list[str]:
        return list(dict.fromkeys(events))


class NewWebhookEndpointSerializer(WebhookEndpointSerializer):
    """An endpoint with its secret: the answer to making one or giving it a new secret, and nowhere else."""

    secret = serializers.CharField(
        read_only=True, help_text="What messages are signed with. It is shown this once."
    )

    class Meta(WebhookEndpointSerializer.Meta):
        fields = [*WebhookEndpointSerializer.Meta.fields, "secret"]


class WebhookDeliverySerializer(serializers.ModelSerializer[WebhookDelivery]):
    """The delivery of one event to one endpoint."""

    next_try_at = serializers.DateTimeField(source="run_at", allow_null=True)
    created_at = serializers.DateTimeField(source="queued_at")
    error = serializers.SerializerMethodField()
    end_reason = serializers.SerializerMethodField()
    payload: Any = serializers.JSONField()

    class Meta:
        model = WebhookDelivery
        fields = [
            "id",
            "event_id",
            "event_type",
            "status",
            "end_reason",
            "tries",
            "tried_at",
            "next_try_at",
            "response_status",
            "response_excerpt",
            "error",
            "created_at",
            "ended_at",
            "payload",
        ]
        read_only_fields = fields

    def get_error(self, delivery: WebhookDelivery) -> str | None:
        return delivery.error or None

    def get_end_reason(self, delivery: WebhookDelivery) -> str | None:
        return delivery.end_reason or None
