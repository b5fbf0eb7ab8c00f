"""Django's handle on the package."""

from django.apps import AppConfig
from django.core.checks import register


class ExecutionsConfig(AppConfig):
    name = "executions"

    def ready(self) -> None:
        from executions import connecting, sweeping
        from executions.blocks.checks import (
            check_blocks,  # the catalogue imports models' neighbours: after the apps
        )
        from executions.credentials.oauth.providers import check_providers

        register(check_blocks, "blocks")
        register(check_providers, "credentials")
        connecting.connect()
        sweeping.connect()
