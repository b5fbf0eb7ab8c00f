"""The permission groups of the admin: view, operate and administer."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db.models import Q

VIEW, OPERATE, ADMINISTER = "view", "operate", "administer"
OPERATED = {  # the change permission of these models allows their admin actions
    "chat": ("turn", "session"),
    "tools": ("operation", "toolpolicy"),
    "connections": ("toolserver", "servertool"),
    "executions": ("execution", "review", "schedule", "trigger", "triggerdelivery"),
    "webhooks": ("webhookdelivery", "webhookendpoint", "pushnotice"),
    "durable": ("parkedentry", "workerbeat", "pause"),
    "accounts": ("apikey",),
}
ALSO = ("add_pause", "delete_pause", "delete_parkedentry")


def after_migrate(app_config: AppConfig, **kwargs: Any) -> None:
    """Make the groups once per migrate, after the last app, when all permissions exist."""
    if app_config is not list(apps.get_app_configs())[-1] or not apps.is_installed("django.contrib.auth"):
        return
    create_permissions(app_config, verbosity=0)
    make_groups()


def make_groups() -> None:
    """Create each group with its permissions; its members also need *staff status* to enter the admin."""
    every = Permission.objects.all()
    view = Q(codename__startswith="view_")
    operate = Q()
    for app, models in OPERATED.items():
        operate |= Q(content_type__app_label=app, codename__in=[f"change_{model}" for model in models])
    for name, permissions in {
        VIEW: every.filter(view),
        OPERATE: every.filter(view | operate | Q(codename__in=ALSO)),
        ADMINISTER: every,
    }.items():
        group, _ = Group.objects.get_or_create(name=name)
        group.permissions.set(permissions)
