"""api_types: print the schemas from which the types of the chat UI are generated."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from copilot_project.web.openapi_page import document


class Command(BaseCommand):
    """`npm run api-types` in frontend/ calls this."""

    help = "Print the schemas of the API as an OpenAPI document without paths and descriptions."
    requires_system_checks = []

    def handle(self, **options: Any) -> None:
        self.stdout.write(document(), ending="")
