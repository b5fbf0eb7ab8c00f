"""Django app configuration."""

from django.apps import AppConfig
from django.core.checks import register


class ToolsConfig(AppConfig):
    name = "tools"

    def ready(self) -> None:
        from durable.lifecycle import register as register_lifecycle
        from tools.models import Operation
        from tools.operations.lifecycle import OperationLifecycle
        from tools.registry import check_tools  # models are not loaded before this point

        register(check_tools)
        register_lifecycle(Operation, OperationLifecycle())
