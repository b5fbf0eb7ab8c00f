"""The documentation page that lists the tools, generated from their definitions."""

from __future__ import annotations

from typing import Any

from tools import registry, schema
from tools.base import Effect, Tool

HEAD = """\
# Tools

The tools that the model may call, generated from `tools/catalog/` by `./copilot docs`. To write one, see
[add a tool](../how-to/add-a-tool.md).

"""
AFTER_A_CRASH = {
    Effect.PURE: "run again",
    Effect.IDEMPOTENT: "run again with the same key",
    Effect.EFFECTFUL: "looked up by key, run only if it did not happen",
    Effect.FOREIGN: "not run again; the model is told that it may have happened",
}


def tool_list_page() -> str:
    """Return the page with every tool of the catalog, but not those of other apps."""
    tools = [tool for tool in registry.current().all() if tool.module.startswith("tools.catalog.")]
    return HEAD + "\n".join(section(tool) for tool in tools)


def section(tool: Tool) -> str:
    spec = schema.spec(tool)
    rows = "".join(row(name, value, spec.parameters) for name, value in spec.parameters["properties"].items())
    table = f"\n| parameter | type | |\n|---|---|---|\n{rows}" if rows else "\nNo parameters.\n"
    needs = (
        f" Needs: {', '.join(gate.__name__.replace('_', ' ') for gate in tool.gates)}." if tool.gates else ""
    )
    crash = f"After a crash: {AFTER_A_CRASH[tool.effect]}. Time limit: {tool.cap_seconds:g} s.{needs}"
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
