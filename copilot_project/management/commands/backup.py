"""backup: write the database and the files to one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from copilot_project.backup import archive
from copilot_project.backup.errors import BackupError

WARNING = """\
The keys are in this file: who has it can read every credential and log in as anybody. Encrypt it, keep it apart."""
REMINDER = """\
The keys (SECRET_KEY, ENCRYPTION_KEYS) are not in it: keep them apart. Without them credentials cannot be read."""


class Command(BaseCommand):
    help = (
        "Write the database and the files of the workspace to PATH (.tar.gz). Everything may go on meanwhile."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument(
            "--portable", action="store_true", help="JSON that goes into SQLite and PostgreSQL alike; slower."
        )
        parser.add_argument(
            "--with-keys", action="store_true", help="Put the keys in as well. Mind the file."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            made = archive.make(
                options["path"].absolute(), portable=options["portable"], with_keys=options["with_keys"]
            )
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{options['path']}: {made.database}, {made.files} files.")
        if made.missing:
            self.stderr.write(f"{len(made.missing)} files have no content in storage and were left out.")
        self.stderr.write(WARNING if made.keys else REMINDER)
