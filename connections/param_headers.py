"""Arguments that a server wants repeated in headers (`x-mcp-header`), for proxies that route by them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

ANNOTATION = "x-mcp-header"
PREFIX = "Mcp-Param-"
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")
VISIBLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
ENCODED = re.compile(r"=\?base64\?.*\?=")
SCALARS = frozenset({"string", "integer", "boolean"})
NESTED = frozenset(
    {
        "items",
        "contains",
        "unevaluatedItems",
        "additionalProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
    }
    | {"unevaluatedProperties", "contentSchema"}
)
NESTED_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
NESTED_MAPS = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})
MAX_HEADERS = 32

Path = tuple[str, ...]


def problem_of(schema: Any) -> str:
    """Return why the annotations of an input schema are invalid; empty if they are valid or there are none."""
    seen: set[str] = set()
    for path, node in positions(schema):
        if ANNOTATION not in node:
            continue
        name = node[ANNOTATION]
        if not path:
            return f"{ANNOTATION} is allowed on plain properties only."
        if not isinstance(name, str) or not TOKEN.fullmatch(name):
            return f"{ANNOTATION} of {path[-1]!r} is not a header name."
        if node.get("type") not in SCALARS:
            return f"{ANNOTATION} of {path[-1]!r} needs a string, an integer or a boolean."
        if name.lower() in seen:
            return f"{ANNOTATION} {name!r} is used twice."
        seen.add(name.lower())
    return f"{ANNOTATION} is used too often." if len(seen) > MAX_HEADERS else ""


def headers_for(schema: Any, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a call; arguments that are missing have none."""
    headers = {}
    for path, node in positions(schema):
        name = node.get(ANNOTATION)
        value = value_at(arguments, path) if path and isinstance(name, str) else None
        if isinstance(value, str | int | float):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            headers[f"{PREFIX}{name}"] = encode_header(text)
    return headers


def encode_header(text: str) -> str:
    """Return a text as a header's value: as it is, or in base64 where a header would not keep it."""
    if VISIBLE.fullmatch(text) and not ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def positions(schema: Any) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Yield each schema in a schema with its path of properties, None off that path. No `$ref` is followed."""
    stack: list[tuple[Path | None, Any]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        if not isinstance(node, dict):
            continue
        yield path, node
        for key, value in node.items():
            if key == "properties" and isinstance(value, dict):
                stack += [((*path, name) if path is not None else None, part) for name, part in value.items()]
            elif key in NESTED:
                stack.append((None, value))
            elif key in NESTED_LISTS and isinstance(value, list):
                stack += [(None, part) for part in value]
            elif key in NESTED_MAPS and isinstance(value, dict):
                stack += [(None, part) for part in value.values()]


def value_at(arguments: Mapping[str, Any], path: Path) -> Any:
    node: Any = arguments
    for key in path:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node
