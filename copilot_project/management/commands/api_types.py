"""./copilot api_types: print the shapes that the chat UI's types are generated from."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from copilot_project.api_types import document


class Command(BaseCommand):
    """`npm run api-types` in frontend/ calls this."""

    help = "Print the API's shapes as an OpenAPI document without paths and prose."
    requires_system_checks = []

    def handle(self, **options: Any) -> None:
        self.stdout.write(document(), ending="")
