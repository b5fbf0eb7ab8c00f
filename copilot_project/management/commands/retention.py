"""retention: throw away what is old, now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from copilot_project import retention
from durable import limits


class Command(BaseCommand):
    help = (
        "Throw away recorded streams, executions and logs that are older than the environment says "
        "(COPILOT_KEEP_…_DAYS). Beat does the same once a day; this one may also give the disk its space back."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--vacuum", action="store_true", help="SQLite: shrink the file. Writers wait.")
        parser.add_argument("--seconds", type=float, default=limits.RETENTION_SECONDS, help="Time cap.")

    def handle(self, *args: Any, **options: Any) -> None:
        for name, removed in retention.throw_away_old(seconds=options["seconds"]).items():
            self.stdout.write(f"{removed:>8}  {name}")
        if options["vacuum"]:
            self.stdout.write(
                "   shrunk  the database" if retention.vacuum() else "PostgreSQL shrinks itself."
            )
