"""Django's handle on the package."""

from django.apps import AppConfig
from django.core.checks import register


class ToolsConfig(AppConfig):
    name = "tools"

    def ready(self) -> None:
        from tools.checks import check_tools  # models are not loaded before this point

        register(check_tools)
