"""What the generated OpenAPI page says of every operation alike: how it fails."""

from __future__ import annotations

from typing import Any

METHODS = {"get", "post", "put", "patch", "delete"}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "For programs; stable."},
                "message": {"type": "string", "description": "For people."},
                "hint": {"type": "string", "description": "What to do next."},
                "fields": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": {"type": "string"}},
                    "description": "What is wrong with each field, by its path.",
                },
            },
        }
    },
}
IN_WORDS = {"text/plain": {"schema": {"type": "string"}}}


def add_errors(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """drf-spectacular's hook: the one error form as the default answer of every operation."""
    result.setdefault("components", {}).setdefault("schemas", {})["Error"] = ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for methods in result["paths"].values():
        for operation in (methods[name] for name in METHODS & methods.keys()):
            told = content | IN_WORDS if is_streamed(operation) else content
            operation["responses"].setdefault("default", {"description": "Any error.", "content": told})
    return result


def is_streamed(operation: dict[str, Any]) -> bool:
    """Whether it answers a `useChat` client, which shows the text of an error as it is."""
    return "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
