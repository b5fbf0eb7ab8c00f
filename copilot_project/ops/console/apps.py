"""Make the operations console the admin site."""

from __future__ import annotations

from django.apps import apps
from django.contrib.admin.apps import AdminConfig
from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import post_migrate


class ConsoleConfig(AdminConfig):
    default_site = "copilot_project.ops.console.site.Console"

    def ready(self) -> None:
        super().ready()
        from copilot_project.ops.console import access, groups  # models are loaded only now
        from copilot_project.ops.console.site import APP_NAMES

        for label, name in APP_NAMES.items():
            apps.get_app_config(label).verbose_name = name

        post_migrate.connect(groups.after_migrate, dispatch_uid="console.groups")
        user_logged_in.connect(access.after_login, dispatch_uid="console.access")
