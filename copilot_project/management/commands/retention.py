"""retention: delete old data now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from copilot_project import limits
from copilot_project.ops import retention


class Command(BaseCommand):
    help = (
        "Delete recorded events, executions and logs older than COPILOT_KEEP_…_DAYS. Beat does this once a day; "
        "run it by hand to free disk space now."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--vacuum",
            action="store_true",
            help="SQLite only: shrink the database file. Writers wait meanwhile.",
        )
        parser.add_argument(
            "--seconds", type=float, default=limits.RETENTION_SECONDS, help="Stop after this many seconds."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        for name, removed in retention.delete_old(seconds=options["seconds"]).items():
            self.stdout.write(f"{removed:>8}  {name}")
        if options["vacuum"]:
            self.stdout.write(
                "   shrunk  the database"
                if retention.vacuum()
                else "Nothing to shrink: PostgreSQL does it by itself."
            )
