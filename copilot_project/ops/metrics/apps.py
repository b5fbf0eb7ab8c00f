"""Django app configuration."""

from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "copilot_project.ops.metrics"
    label = "metrics"
