"""The Django app of the second factor."""

from __future__ import annotations

from django.apps import AppConfig


class SecondFactorConfig(AppConfig):
    name = "copilot_project.ops.console.second_factor"
    label = "second_factor"
    verbose_name = "Second factors"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from copilot_project.ops.console.second_factor.models import Authenticator
        from executions.credentials import rotation

        rotation.SEALED.append((Authenticator, ("sealed_key",)))
