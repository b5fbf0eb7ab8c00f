"""The documentation's list of tools, written from their definitions."""

from __future__ import annotations

from typing import Any

from tools import registry, schema
from tools.base import Effect, Tool

HEAD = """\
# The tools

What the model may call, from the definitions in `tools/catalog/`. `./copilot docs` writes this page; how to add
a tool is on [its own page](tools.md).

"""
AFTER_A_CRASH = {
    Effect.PURE: "run again",
    Effect.IDEMPOTENT: "run again with the same key",
    Effect.EFFECTFUL: "looked up by key, run only if it did not happen",
    Effect.FOREIGN: "not run again; the model hears that it may have happened",
}


def tool_list_page() -> str:
    """Every tool of the product; those of other apps and of the tests are not its own."""
    tools = [tool for tool in registry.current().all() if tool.module.startswith("tools.catalog.")]
    return HEAD + "\n".join(section(tool) for tool in tools)


def section(tool: Tool) -> str:
    spec = schema.spec(tool)
    rows = "".join(row(name, value, spec.parameters) for name, value in spec.parameters["properties"].items())
    table = f"\n| parameter | type | |\n|---|---|---|\n{rows}" if rows else "\nNo parameters.\n"
    needs = (
        f" Needs: {', '.join(gate.__name__.replace('_', ' ') for gate in tool.gates)}." if tool.gates else ""
    )
    crash = f"Cut off by a crash: {AFTER_A_CRASH[tool.effect]}. Time cap: {tool.cap_seconds:g} s.{needs}"
    return f"## {tool.name}\n\n{' '.join(spec.description.split())}\n\n{crash}\n{table}"


def row(name: str, value: dict[str, Any], parameters: dict[str, Any]) -> str:
    required = " (required)" if name in parameters.get("required", ()) else ""
    about = str(value.get("description", "")).replace("|", "\\|")
    return f"| `{name}`{required} | {kind(value)} | {about} |\n"


def kind(value: dict[str, Any]) -> str:
    if "enum" in value:
        return ", ".join(f"`{choice}`" for choice in value["enum"])
    if "anyOf" in value:
        return " or ".join(kind(choice) for choice in value["anyOf"])
    if value.get("type") == "array":
        return f"list of {kind(value.get('items', {}))}"
    return str(value.get("type", "any"))
