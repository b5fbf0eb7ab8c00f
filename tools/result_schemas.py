"""JSON schemas of what tools answer, so that clients can generate types of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard, get_type_hints

from pydantic.json_schema import models_json_schema

from tools import registry
from tools.base import Tool, ToolResult

PREFIX = "Tool"  # sets them apart from the schemas of the HTTP API
UNION = "ToolResult"
REFERENCE = "#/components/schemas/"
OUTCOMES = (
    "error",
    "need_login",
    "no_results",
    "operation_accepted",
    "operation_completed",
    "operation_in_progress",
    "operation_pending",
    "operation_started",
    "review_required",
)
OUTCOME: dict[str, Any] = {
    "type": "object",
    "description": "A call that ended without a result of its own, or whose work goes on as an operation.",
    "required": ["type", "message"],
    "properties": {
        "type": {"type": "string", "enum": list(OUTCOMES)},
        "message": {"type": "string", "description": "For people."},
        "error": {"type": "string", "description": "Code of the error, for programs."},
        "operation_id": {"type": "string"},
        "tool_name": {"type": "string"},
        "review_id": {"type": "string"},
        "suggestions": {"type": "array", "items": {"type": "string"}},
        "session_id": {"type": "string", "nullable": True},
    },
    "additionalProperties": True,
}


def result_schemas() -> dict[str, Any]:
    """Return the schemas by name, in OpenAPI 3.0: one per type of result, and their union `ToolResult`."""
    models = sorted(
        {model for tool in catalog() for model in results_of(tool)}, key=lambda model: model.__name__
    )
    _, found = models_json_schema(
        [(model, "serialization") for model in models], ref_template=f"{REFERENCE}{PREFIX}{{model}}"
    )
    schemas = {f"{PREFIX}{name}": as_openapi(schema) for name, schema in found["$defs"].items()}
    members = [f"{PREFIX}{model.__name__}" for model in models]
    for name in members:
        schemas[name]["required"] = [
            "type",
            *schemas[name].get("required", []),
        ]  # clients tell results apart by it
    schemas[f"{PREFIX}Outcome"] = OUTCOME
    schemas[UNION] = {"oneOf": [{"$ref": f"{REFERENCE}{name}"} for name in (*members, f"{PREFIX}Outcome")]}
    return schemas


def add_to_openapi(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """drf-spectacular's hook: messages and streams carry these as the `output` of a tool part."""
    result["components"]["schemas"] |= result_schemas()
    return result


def catalog() -> list[Tool]:
    """Return the tools of the product, but not those of other apps."""
    return [tool for tool in registry.current().all() if tool.module.startswith("tools.catalog.")]


def results_of(tool: Tool) -> Iterator[type[ToolResult]]:
    """Yield the models that the functions of a tool may return."""
    for function in (tool.run, tool.receive):
        hint = get_type_hints(function).get("return") if function is not None else None
        members = getattr(hint, "__args__", (hint,))
        yield from (kind for kind in members if is_concrete(kind))


def is_concrete(kind: object) -> TypeGuard[type[ToolResult]]:
    return isinstance(kind, type) and issubclass(kind, ToolResult) and kind is not ToolResult


def as_openapi(schema: Any) -> Any:
    """Return a JSON schema in the words of OpenAPI 3.0, which has neither `const` nor a type of null."""
    if isinstance(schema, list):
        return [as_openapi(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    said = {
        name: as_openapi(item)
        for name, item in schema.items()
        if name != "title" or not isinstance(item, str)
    }
    if "const" in said:
        said["enum"] = [said.pop("const")]
    said.pop("prefixItems", None)
    choices = said.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        rest = [choice for choice in choices if choice != {"type": "null"}]
        del said["anyOf"]
        alone = rest[0] if len(rest) == 1 else {"anyOf": rest}
        return said | {"nullable": True} | ({"allOf": [alone]} if "$ref" in alone else alone)
    return said
