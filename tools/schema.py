"""JSON schemas of tools for the model, made as small as possible."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from llm.types import ToolSpec
from tools.base import Tool, ToolArgs
from tools.errors import BadTool

MAX_SCHEMA_DEPTH = 20


def spec(tool: Tool) -> ToolSpec:
    """Return the tool's specification for the model."""
    shape = parameters(tool.args) if tool.parameters is None else dict(tool.parameters)
    return ToolSpec(name=tool.name, description=tool.description, parameters=shape)


def size(tool: Tool) -> int:
    """Return the number of characters that the tool takes in a request."""
    return spec_size(spec(tool))


def spec_size(found: ToolSpec) -> int:
    whole = {"name": found.name, "description": found.description, "parameters": found.parameters}
    return len(json.dumps(whole, ensure_ascii=False, separators=(",", ":")))


@cache
def parameters(model: type[ToolArgs]) -> dict[str, Any]:
    """Return the schema of the argument model: definitions inlined, titles and null alternatives removed."""
    whole = model.model_json_schema()
    schema = _compact(whole, whole.pop("$defs", {}), 0)
    assert isinstance(schema, dict)
    schema.pop("description", None)  # the model class's docstring; the tool has its own description
    return {"type": "object", "properties": {}, **schema}


def _compact(node: Any, definitions: dict[str, Any], depth: int) -> Any:
    if depth > MAX_SCHEMA_DEPTH:
        raise BadTool("An argument model refers to itself. Use plain JSON (dict[str, Any]) for trees.")
    if isinstance(node, list):
        return [_compact(item, definitions, depth + 1) for item in node]
    if not isinstance(node, dict):
        return node
    node = _without_null(node)
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return {key: _value(key, value, definitions, depth) for key, value in node.items() if _keep(key, value)}


def _value(key: str, value: Any, definitions: dict[str, Any], depth: int) -> Any:
    """Compact a value; below `properties` the keys are argument names, elsewhere JSON Schema keywords."""
    if key == "properties":
        return {name: _compact(schema, definitions, depth + 1) for name, schema in value.items()}
    if key in ("default", "enum", "const", "examples"):
        return value
    return _compact(value, definitions, depth + 1)


def _keep(key: str, value: Any) -> bool:
    if key == "title":
        return False
    return not (key == "default" and value is None) and not (key == "additionalProperties" and value is True)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Turn `X or null` into X: an optional argument is not in `required` anyway."""
    choices = node.get("anyOf")
    if not choices or {"type": "null"} not in choices:
        return node
    others = [choice for choice in choices if choice != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    return {**others[0], **rest} if len(others) == 1 else {**rest, "anyOf": others}
