"""apikey USERNAME [--name N]: create an API key and print it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.api_keys import create_api_key
from accounts.errors import TooManyKeys
from accounts.models import User


class Command(BaseCommand):
    help = "Create an API key for a user and print it. It cannot be shown again: only its hash is stored."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="command line", help="What the key is for.")

    def handle(self, *args: Any, username: str, name: str, **options: Any) -> None:
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user {username!r}.")
        if not 0 < len(name) <= 100:
            raise CommandError("A key's name must have 1 to 100 characters.")
        try:
            self.stdout.write(create_api_key(user, name))
        except TooManyKeys as error:
            raise CommandError(error.advice) from None
