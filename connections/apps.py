"""Django app configuration."""

from django.apps import AppConfig
from django.core.checks import register
from django.db.models.signals import post_migrate


class ConnectionsConfig(AppConfig):
    name = "connections"

    def ready(self) -> None:
        from blocks.tool_servers import connected_servers
        from connections import site_servers  # models are not loaded before this point
        from connections.block_calls import call_from_block

        connected_servers.fill(call_from_block)
        register(site_servers.check_setting)
        post_migrate.connect(site_servers.after_migrate, sender=self, dispatch_uid="connections.servers")
