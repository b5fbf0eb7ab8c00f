"""Puts the operations room in the place of the admin's own site."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig
from django.db.models.signals import post_migrate


class ConsoleConfig(AdminConfig):
    default_site = "copilot_project.console.site.Console"

    def ready(self) -> None:
        super().ready()
        from copilot_project.console import groups  # models are loaded only now

        post_migrate.connect(groups.after_migrate, dispatch_uid="console.groups")
