"""login_link USERNAME: print a one-time login link."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from accounts.tokens import make_login_link


class Command(BaseCommand):
    help = "Print a link that logs a user in once within fifteen minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user {username!r}.")
        self.stdout.write(settings.SITE_URL + make_login_link(user))
