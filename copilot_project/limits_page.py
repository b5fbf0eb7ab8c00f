"""The generated reference page of all limits."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from copilot_project.env import ROOT

HEAD = """\
# Limits

Every fixed limit on time, size and count, generated from the `limits.py` of each package by `./copilot docs`. Names say
the unit; times are in seconds. What an operator may change is in [environment variables](environment.md).
"""
PACKAGES = (
    *(
        "doors",
        "doors.mcp",
        "doors.openai",
        "chat",
        "tools",
        "connections",
        "executions",
        "blocks",
        "webhooks",
        "llm",
        "workspace",
        "accounts",
        "boundary",
    ),
    *("durable", "copilot_project"),
)


def limits_page() -> str:
    """Return the page: one table per package, in the order of the source."""
    return HEAD + "".join(section(package) for package in PACKAGES)


def section(package: str) -> str:
    rows = "".join(f"| `{name}` | {value} | {note} |\n" for name, value, note in limits_of(package))
    return f"\n## `{package}`\n\n| limit | value | note |\n|---|---|---|\n{rows}"


def limits_of(package: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and comment of each limit that the package defines."""
    source = (ROOT / package.replace(".", "/") / "limits.py").read_text()
    values, notes = import_module(f"{package}.limits"), comments(source)
    for node in ast.parse(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            note = " ".join(notes[line] for line in lines if line in notes)
            yield target.id, shown(getattr(values, target.id)), note.replace("|", "\\|")


def comments(source: str) -> Mapping[int, str]:
    """Return the comments of a module by line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {one.start[0]: one.string.lstrip("# ") for one in tokens if one.type == tokenize.COMMENT}


def shown(value: object) -> str:
    match value:
        case bool() | str() | Path():
            return f"`{value}`"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,g}" if value < 1e6 else f"{value:,.0f}"
        case tuple() | list() | frozenset() | set():
            members = sorted(value, key=str) if isinstance(value, frozenset | set) else value
            return ", ".join(shown(one) for one in members)
        case _:
            return f"`{value}`"
