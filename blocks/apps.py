"""Django app of the blocks."""

from django.apps import AppConfig
from django.core.checks import register


class BlocksConfig(AppConfig):
    name = "blocks"

    def ready(self) -> None:
        from blocks.registry import check_blocks

        register(check_blocks, "blocks")
