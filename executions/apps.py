"""Django app configuration."""

from django.apps import AppConfig
from django.core.checks import register


class ExecutionsConfig(AppConfig):
    name = "executions"

    def ready(self) -> None:
        from durable.lifecycle import register as register_lifecycle
        from executions import signal_handlers
        from executions.credentials.oauth.providers import check_providers
        from executions.lifecycle import ExecutionLifecycle
        from executions.models import BlockRun, Execution
        from executions.run_block.lifecycle import BlockRunLifecycle

        register(check_providers, "credentials")
        register_lifecycle(Execution, ExecutionLifecycle())
        register_lifecycle(BlockRun, BlockRunLifecycle())
        signal_handlers.connect()
