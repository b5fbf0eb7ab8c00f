"""Django's handle on the package."""

from django.apps import AppConfig


class LlmConfig(AppConfig):
    name = "llm"
