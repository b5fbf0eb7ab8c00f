"""wait_for_servers: wait until the database and Redis accept connections."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from copilot_project import limits
from copilot_project.ops.checks.check import Check
from copilot_project.ops.checks.parts import database, redis


class Command(BaseCommand):
    help = "Wait until the database and Redis accept connections; fail if they do not in time."
    requires_system_checks = []

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--seconds", type=float, default=limits.SERVERS_START_SECONDS)

    def handle(self, *args: Any, **options: Any) -> None:
        deadline = time.monotonic() + options["seconds"]
        for check in (database, redis):
            while not (found := check()).ok:
                if time.monotonic() > deadline:
                    raise CommandError(explain(found))
                time.sleep(limits.READY_PROBE_SECONDS)


def explain(check: Check) -> str:
    """Say what does not answer and which two ways there are to have it answer."""
    return (
        f"{check.name}: {check.message.rstrip('.')}. {check.hint}. With docker compose, COMPOSE_PROFILES in "
        "docker/.env must name the servers that it should start: postgres,redis."
    )
