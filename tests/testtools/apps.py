"""Django's handle on the package."""

from django.apps import AppConfig


class TestToolsConfig(AppConfig):
    name = "tests.testtools"
    default_auto_field = "django.db.models.BigAutoField"
