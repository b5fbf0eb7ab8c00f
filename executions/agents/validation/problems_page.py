"""Generator of the docs page with all validation codes."""

from __future__ import annotations

from collections.abc import Iterator

from executions.agents.validation.problems import MEANINGS

HEAD = """\
# Validation codes

Every problem that [validation](agents.md#validation) reports, generated from
`executions/agents/validation/problems.py` by `./copilot docs`. Each problem has a `code`, a `message` that says what to
do, and where they apply `node_id`, `pin` and `sub_agent`. `POST /api/agents/{id}/fix` fixes what can be fixed without
guessing.
"""
TABLE = """
## {title}

| code | meaning | fix |
|---|---|---|
"""


def problems_page() -> str:
    errors = TABLE.format(title="Errors: the agent cannot run") + "".join(rows(error=True))
    warnings = TABLE.format(title="Warnings: the agent can run, but should be checked") + "".join(
        rows(error=False)
    )
    return HEAD + errors + warnings


def rows(*, error: bool) -> Iterator[str]:
    for code, meaning in MEANINGS.items():
        if meaning.error is error:
            yield f"| `{code}` | {meaning.text} | {meaning.fixed} |\n"
