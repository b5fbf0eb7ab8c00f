"""remove_second_factor: let a user who lost phone and recovery codes into the admin again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from copilot_project.ops.console.second_factor import factor


class Command(BaseCommand):
    help = "Remove a user's second factor, when no other administrator can do it in the admin."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is no user {username!r}. Check the spelling.")
        if not factor.remove(user):
            raise CommandError(f"{username} has no second factor.")
        self.stdout.write(
            f"Removed. {username} now logs in to the admin with the password alone until they set up a new one."
        )
