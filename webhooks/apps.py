"""Django's handle on the package."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "webhooks"
