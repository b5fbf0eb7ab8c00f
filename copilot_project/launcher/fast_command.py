"""Run a management command that needs no models, without the time it takes to load them."""

from __future__ import annotations

import os
import sys

from django.core.management import load_command_class


def main(app: str, command: str, words: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")
    load_command_class(app, command).run_from_argv(["./copilot", command, *words])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
