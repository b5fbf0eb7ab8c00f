"""restore: replace the database and the files with those of a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from copilot_project.launcher.instance import is_occupied
from copilot_project.ops.backup import archive
from copilot_project.ops.backup.errors import BackupError


class Command(BaseCommand):
    help = "Restore the database and the workspace files from a backup. Stop all processes first."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--replace", action="store_true", help="Delete the data that is here now.")

    def handle(self, *args: Any, **options: Any) -> None:
        if is_occupied(settings.HOME):
            raise CommandError("./copilot up is running in this folder. Stop it first.")
        try:
            found = archive.restore(options["path"].absolute(), replace=options["replace"])
        except (BackupError, DatabaseError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Restored the backup of {found.made_at}: {found.database}, {found.files} files.")
        if not found.keys:
            self.stdout.write(
                "Set SECRET_KEY and ENCRYPTION_KEYS to those of the system the backup was made on."
            )
        elif settings.PRODUCTION:
            self.stdout.write(
                "The backup contains keys, but production reads them from the environment: set them there."
            )
