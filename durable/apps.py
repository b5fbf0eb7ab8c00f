"""Django app configuration."""

import os

from django.apps import AppConfig

from durable.fork_safe import leave_connections_behind


class DurableConfig(AppConfig):
    name = "durable"

    def ready(self) -> None:
        os.register_at_fork(after_in_child=leave_connections_behind)
