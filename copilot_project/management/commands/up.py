"""up: start everything, say where it is, and stay with it."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand

from copilot_project.env import ROOT


class Command(BaseCommand):
    help = "Start everything: Redis, web, workers, beat, Flower, the offline model. Ctrl-C stops all of it."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        # A fresh process: ports are chosen before settings are read, and here they have been.
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "copilot_project.embedded.up"])  # noqa: S606
