"""Django app configuration."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "webhooks"

    def ready(self) -> None:
        from durable.lifecycle import register as register_lifecycle
        from webhooks.lifecycle import DeliveryLifecycle  # models are not loaded before this point
        from webhooks.models import WebhookDelivery

        register_lifecycle(WebhookDelivery, DeliveryLifecycle())
