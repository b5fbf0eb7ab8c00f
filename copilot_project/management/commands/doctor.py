"""doctor: check every part of this installation."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from copilot_project.ops.checks import catalog
from copilot_project.ops.checks.check import Check


class Command(BaseCommand):
    help = "Check every part of this installation and say how to fix it. Exits with 1 if a required part is broken."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        probes = catalog.ALL + (catalog.DEPLOYMENT if settings.PRODUCTION else ())
        found = [probe() for probe in probes]
        if options["json"]:
            self.stdout.write(json.dumps([dataclasses.asdict(check) for check in found], indent=2))
        else:
            for check in found:
                self.stdout.write(describe(check))
        if any(check.needed and not check.ok for check in found):
            sys.exit(1)


def describe(check: Check) -> str:
    word = "ok     " if check.ok else "BROKEN " if check.needed else "missing"
    line = f"{word}  {check.name:<13} {check.message.rstrip('.')}"
    return f"{line}. {check.hint}." if check.hint else line
