"""check_agents: say for each agent file of a folder whether it could run here, and what is missing."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from executions.agents.agent_json import read_agent_json
from executions.agents.errors import AgentError
from executions.agents.repair import fix_graph
from executions.agents.validation import validate


class Command(BaseCommand):
    help = "Check agent JSON files, such as exports of AutoGPT, without importing them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="A folder with .json files.")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        files = sorted(folder.glob("*.json"))
        if not files:
            raise CommandError(f"There are no .json files in {folder}.")
        runs = 0
        for path in files:
            lines = check_file(path)
            runs += not lines[1:]
            self.stdout.write("\n    ".join([f"{path.name}: {lines[0]}", *lines[1:]]))
        self.stdout.write(f"{runs} of {len(files)} agents can run here.")


def check_file(path: Path) -> list[str]:
    """Return the verdict on a file, followed by what keeps the agent from running, if anything does."""
    try:
        graph = read_agent_json(json.loads(path.read_text()))
    except (AgentError, ValueError) as error:
        return ["not an agent", str(error)]
    if validate(graph).valid:
        return ["can run"]
    fixed, fixes = fix_graph(graph)
    report = validate(fixed)
    if report.valid:
        return [f"can run after a fix: {' '.join(fix.message for fix in fixes)}"]
    return ["cannot run yet", *(problem.message for problem in report.errors)]
