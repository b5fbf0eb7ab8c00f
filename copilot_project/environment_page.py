"""The generated pages of docs/, and the page of environment variables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from copilot_project.deployment_page import deployment_page
from copilot_project.env import ROOT, Environment
from copilot_project.limits_page import limits_page
from executions.agents.validation.problems_page import problems_page
from llm.offline.docs_page import offline_model_page
from tools.tool_list_page import tool_list_page

DOCS = ROOT / "docs"
HEAD = """\
# Environment variables

Every variable that Ratchet reads, generated from `copilot_project/env.py` by `./copilot docs`. An empty value counts as
unset. Variables marked 🔑 hold secrets: they are never logged or shown.

They come from, in this order:

1. the environment of the process, also when a variable is there but empty (`DATABASE_URL= ./copilot up` uses SQLite
   whatever the file says);
2. the file `.env` in the project's folder, which `./copilot` reads: a line `NAME=value` each, `#` for comments, quotes
   around values with spaces or `#`, no expansion of `$`. `./copilot test`, `check`, `bench`, `chaos` and `attack` do
   not read it, so that no test reaches the servers of a real site;
3. the default below.

Processes that `./copilot` does not start do not read the file. Give systemd the same file as `EnvironmentFile=`; with
[Docker](../how-to/deploy.md#with-docker), compose hands every variable of `docker/.env` on.

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
    "reference/environment.md": environment_page,
    "reference/limits.md": limits_page,
    "how-to/deploy.md": deployment_page,
    "reference/tools.md": tool_list_page,
    "reference/validation-codes.md": problems_page,
    "reference/offline-model.md": offline_model_page,
}
