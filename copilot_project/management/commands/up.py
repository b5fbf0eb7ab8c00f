"""up: run the whole system in the foreground."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand

from copilot_project.env import ROOT


class Command(BaseCommand):
    help = "Start everything (Redis, web, workers, beat, Flower and the offline model); Ctrl-C stops it."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        # In a new process, because ports must be chosen before settings are read.
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "copilot_project.launcher.up"])  # noqa: S606
