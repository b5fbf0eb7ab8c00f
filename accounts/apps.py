"""Django app configuration."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        from accounts import client_address  # noqa: F401 - registers its system check
