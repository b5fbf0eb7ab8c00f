"""Django app configuration."""

from django.apps import AppConfig
from django.core.checks import register
from django.db.models.signals import post_save


class ToolsConfig(AppConfig):
    name = "tools"

    def ready(self) -> None:
        from connections.models import ToolServer
        from durable.lifecycle import register as register_lifecycle
        from tools import policies, toolset
        from tools.models import Operation, ToolPolicy
        from tools.operations import decisions
        from tools.operations.lifecycle import OperationLifecycle
        from tools.registry import check_tools  # models are not loaded before this point

        decisions.connect()
        policies.rule_set.connect(toolset.forget_presence, dispatch_uid="tools.rule_set")
        post_save.connect(toolset.forget_presence, sender=ToolPolicy, dispatch_uid="tools.policy_saved")
        post_save.connect(toolset.forget_presence, sender=ToolServer, dispatch_uid="tools.server_saved")
        register(check_tools)
        register_lifecycle(Operation, OperationLifecycle())
