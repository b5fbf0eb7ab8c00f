"""The Django app of the OpenAI door; it has no models."""

from django.apps import AppConfig


class OpenAIDoorConfig(AppConfig):
    name = "doors.openai"
    label = "openai_door"
    verbose_name = "OpenAI API"
