"""docs: write the pages of docs/ that are generated from code."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from copilot_project.environment_page import DOCS, PAGES


class Command(BaseCommand):
    help = "Write the pages of docs/ that are generated from code."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="Write nothing; fail if a page is out of date."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        stale = {name: text for name, make in PAGES.items() if read(name) != (text := make())}
        if options["check"] and stale:
            raise CommandError(f"Out of date: {', '.join(stale)}. Run ./copilot docs and commit the result.")
        for name, text in stale.items():
            (DOCS / name).write_text(text)
            self.stdout.write(f"Wrote docs/{name}")


def read(name: str) -> str:
    path = DOCS / name
    return path.read_text() if path.exists() else ""
