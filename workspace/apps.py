"""Django's handle on the package."""

from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    name = "workspace"

    def ready(self) -> None:
        from workspace import receivers  # noqa: F401 - models exist only now
