"""Django app configuration."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "webhooks"

    def ready(self) -> None:
        from durable.lifecycle import register as register_lifecycle
        from webhooks.lifecycle import (  # models are not loaded before this point
            DeliveryLifecycle,
            NoticeLifecycle,
        )
        from webhooks.models import PushNotice, WebhookDelivery

        register_lifecycle(WebhookDelivery, DeliveryLifecycle())
        register_lifecycle(PushNotice, NoticeLifecycle())
