"""Django app configuration."""

from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    name = "workspace"

    def ready(self) -> None:
        from workspace import signal_handlers  # noqa: F401 - models exist only now
