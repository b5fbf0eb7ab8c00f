"""backup: write the database and the workspace files to one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from copilot_project.ops.backup import archive
from copilot_project.ops.backup.errors import BackupError

WARNING = """\
The archive contains the keys: anyone who has it can read every credential and log in as any user. Encrypt it."""
REMINDER = """\
The archive does not contain SECRET_KEY and ENCRYPTION_KEYS. Store them separately: credentials need them."""


class Command(BaseCommand):
    help = (
        "Write the database and the workspace files to PATH (.tar.gz). The system may keep running meanwhile."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument(
            "--portable",
            action="store_true",
            help="Store the database as JSON, which restores into SQLite and PostgreSQL; slower.",
        )
        parser.add_argument(
            "--with-keys", action="store_true", help="Include the keys. Protect the archive accordingly."
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
            self.stderr.write(f"{len(made.missing)} files are missing from storage and were left out.")
        self.stderr.write(WARNING if made.keys else REMINDER)
