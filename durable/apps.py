"""Django app configuration."""

import os

from django.apps import AppConfig
from django.db.models.signals import post_delete, post_save

from durable.per_process import leave_connections_behind


class DurableConfig(AppConfig):
    name = "durable"

    def ready(self) -> None:
        from durable.pauses import changed  # needs the models

        os.register_at_fork(after_in_child=leave_connections_behind)
        for signal in (post_save, post_delete):
            signal.connect(changed, sender="durable.Pause", dispatch_uid="durable.pauses")
