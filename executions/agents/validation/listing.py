"""The page of docs/ that lists every code of validation, written from the table in code."""

from __future__ import annotations

from collections.abc import Iterator

from executions.agents.validation.problems import MEANINGS

HEAD = """\
# What validation reports

Every code, from the table in `executions/agents/validation/problems.py`. `./copilot docs` writes this page.
Each problem has a `code`, a `message` that says what to do, and where it applies `node_id`, `pin` and `sub_agent`.
What can be mended without guessing is mended by `POST /api/agents/{id}/fix`.
"""
TABLE = """
## {title}

| code | means | fix |
|---|---|---|
"""


def problems_page() -> str:
    errors = TABLE.format(title="Errors: the agent cannot run") + "".join(rows(error=True))
    warnings = TABLE.format(title="Warnings: it can, but look at it") + "".join(rows(error=False))
    return HEAD + errors + warnings


def rows(*, error: bool) -> Iterator[str]:
    for code, meaning in MEANINGS.items():
        if meaning.error is error:
            yield f"| `{code}` | {meaning.text} | {meaning.fixed} |\n"
