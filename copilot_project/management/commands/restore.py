"""restore: put a backup in the place of what is here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from copilot_project.backup import archive
from copilot_project.backup.errors import BackupError
from copilot_project.embedded.instance import is_occupied


class Command(BaseCommand):
    help = "Put a backup in the place of this system's database and files. Stop everything first."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--replace", action="store_true", help="Throw away the data that is here.")

    def handle(self, *args: Any, **options: Any) -> None:
        if is_occupied(settings.HOME):
            raise CommandError("./copilot up runs in this folder. Stop it first.")
        try:
            found = archive.restore(options["path"].absolute(), replace=options["replace"])
        except (BackupError, DatabaseError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Restored the backup of {found.made_at}: {found.database}, {found.files} files.")
        if not found.keys:
            self.stdout.write("Set SECRET_KEY and ENCRYPTION_KEYS to those of the system it came from.")
        elif settings.PRODUCTION:
            self.stdout.write(
                "The backup holds keys; production takes them from the environment, so set them there."
            )
