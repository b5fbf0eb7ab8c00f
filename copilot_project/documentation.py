"""Pages of docs/ that are written from code, so that they cannot drift from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from copilot_project.deployment_page import deployment_page
from copilot_project.env import ROOT, Environment
from executions.agents.validation.listing import problems_page
from llm.offline.listing import offline_model_page
from tools.listing import tool_list_page

DOCS = ROOT / "docs"
HEAD = """\
# Environment

Every variable Ratchet reads, from the table in `copilot_project/env.py`. `./copilot docs` writes this page.
An empty value counts as unset. Variables marked 🔑 hold secrets: they are never logged or shown.

| variable | default | what it does |
|---|---|---|
"""


def environment_page() -> str:
    return HEAD + "".join(row(field) for field in dataclasses.fields(Environment))


def row(field: dataclasses.Field[Any]) -> str:
    about = field.metadata
    choices = (
        f" One of {', '.join(f'`{choice}`' for choice in about['choices'])}." if about["choices"] else ""
    )
    mark = " 🔑" if about["secret"] else ""
    text = f"{about['help']}{choices}".replace("|", "\\|")
    return f"| `{about['name']}`{mark} | {shown_default(field.default)} | {text} |\n"


def shown_default(value: object) -> str:
    match value:
        case "":
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case float():
            return f"`{value:g}`"
        case _:
            return f"`{value}`"


PAGES: dict[str, Callable[[], str]] = {
    "environment.md": environment_page,
    "deployment.md": deployment_page,
    "tool-list.md": tool_list_page,
    "agent-problems.md": problems_page,
    "offline-model.md": offline_model_page,
}
