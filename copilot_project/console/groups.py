"""Three groups of operators: those who look, those who act on what runs, and those who may change everything."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db.models import Q

VIEW, OPERATE, ADMINISTER = "view", "operate", "administer"
OPERATED = {  # what an operator without shell access repairs; the permission to change it allows its actions
    "chat": ("turn", "session"),
    "tools": ("operation",),
    "executions": ("execution", "review", "schedule", "trigger", "triggerdelivery"),
    "webhooks": ("webhookdelivery", "webhookendpoint"),
    "durable": ("parkedentry", "workerbeat", "pause"),
    "accounts": ("apikey",),
}
ALSO = ("add_pause", "delete_pause", "delete_parkedentry")


def after_migrate(app_config: AppConfig, **kwargs: Any) -> None:
    """Once per migrate: after the last app, when all permissions are there."""
    if app_config is not list(apps.get_app_configs())[-1] or not apps.is_installed("django.contrib.auth"):
        return
    create_permissions(app_config, verbosity=0)
    make_groups()


def make_groups() -> None:
    """Give each group its permissions. A person in one also needs *staff status* to enter."""
    every = Permission.objects.all()
    looking = every.filter(codename__startswith="view_")
    acting = Q()
    for app, models in OPERATED.items():
        acting |= Q(content_type__app_label=app, codename__in=[f"change_{model}" for model in models])
    for name, permissions in {
        VIEW: looking,
        OPERATE: every.filter(Q(codename__startswith="view_") | acting | Q(codename__in=ALSO)),
        ADMINISTER: every,
    }.items():
        group, _ = Group.objects.get_or_create(name=name)
        group.permissions.set(permissions)
