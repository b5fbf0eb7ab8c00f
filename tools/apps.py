"""Django app configuration."""

from django.apps import AppConfig
from django.core.checks import register


class ToolsConfig(AppConfig):
    name = "tools"

    def ready(self) -> None:
        from durable.lifecycle import register as register_lifecycle
        from tools.checks import check_tools  # models are not loaded before this point
        from tools.models import Operation
        from tools.operations.lifecycle import OperationLifecycle

        register(check_tools)
        register_lifecycle(Operation, OperationLifecycle())
