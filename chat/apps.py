"""Django's handle on the package."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat import continuations  # models are not loaded before this point

        continuations.connect()
