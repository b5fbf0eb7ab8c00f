"""remove_second_factor USERNAME: let somebody into the admin who lost phone and recovery codes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from copilot_project.console.second_factor import factor


class Command(BaseCommand):
    help = "Take a user's second factor away. For when nobody is left who could do it in the admin."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user {username!r}.")
        if not factor.take_away(user):
            raise CommandError(f"{username} has no second factor.")
        self.stdout.write(f"{username} enters the admin by password alone, until they set up another one.")
