"""build_ui: build the chat UI now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from copilot_project.launcher import ui


class Command(BaseCommand):
    help = (
        "Build the chat UI from frontend/. `up` does this by itself when the build is missing or out of date."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            ui.build()
        except (ui.CannotBuild, FileNotFoundError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write("The chat UI is built.")
