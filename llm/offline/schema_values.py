"""Build arguments and answers that match a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 8


def fit_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Keep the arguments that the schema knows and fill in required ones; `text` is used for strings."""
    properties = schema.get("properties") or {}
    if not properties:
        return dict(arguments) if schema.get("additionalProperties", True) else {}
    fitted = {
        name: _coerce(value, _resolve(properties[name], schema))
        for name, value in arguments.items()
        if name in properties
    }
    for name in schema.get("required") or ():
        if name not in fitted:
            fitted[name] = make_value(properties.get(name) or {}, text, root=schema)
    return fitted


def make_value(schema: Mapping[str, Any], text: str, *, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value that the schema accepts."""
    schema = _resolve(schema, root)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    match _type(schema):
        case "object" if depth < MAX_DEPTH:
            properties = schema.get("properties") or {}
            names = schema.get("required") or list(properties)
            return {n: make_value(properties.get(n) or {}, text, root=root, depth=depth + 1) for n in names}
        case "array" if depth < MAX_DEPTH:
            count = int(schema.get("minItems", 1))
            return [make_value(schema.get("items") or {}, text, root=root, depth=depth + 1)] * count
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return text[: int(schema.get("maxLength", len(text)))]


def _coerce(value: Any, schema: Mapping[str, Any]) -> Any:
    kind = _type(schema)
    if kind == "array" and not isinstance(value, list):
        return [value]
    if kind == "string" and not isinstance(value, str):
        return str(value)
    if kind == "string" and "maxLength" in schema:
        return value[: int(schema["maxLength"])]
    if kind in ("integer", "number") and isinstance(value, int | float):
        return max(schema.get("minimum", value), min(schema.get("maximum", value), value))
    return value


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference and take the first non-null branch of a union."""
    reference = str(schema.get("$ref", ""))
    if reference.startswith("#/$defs/"):
        schema = (root.get("$defs") or {}).get(reference.removeprefix("#/$defs/"), {})
    branches = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or ()
    for branch in branches:
        if branch.get("type") != "null" and "default" not in schema:
            return _resolve(branch, root)
    return schema


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "object" if "properties" in schema else "")
    if isinstance(kind, list):
        kind = next((name for name in kind if name != "null"), "null")
    return str(kind)
