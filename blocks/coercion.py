"""Coerce values to pin types: text to number, JSON text to list or object, a single value to a list."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from blocks.schema import JSON, compact_type
from durable import storable

WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
TRUE_WORDS = frozenset({"true", "1", "yes", "on"})
FALSE_WORDS = frozenset({"false", "0", "no", "off", ""})
SHOWN_CHARACTERS = 80
PYTHON_TYPES: Mapping[str, Any] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}


def coerce(value: JSON, schema: Mapping[str, JSON], scalar_key: str | None = None) -> JSON:
    """Return the value in the pin's type if the conversion is unambiguous, else unchanged."""
    options = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    if any(_fits(value, option) for option in options):
        return _coerce_members(value, next(option for option in options if _fits(value, option)))
    for option in options:
        converted = _convert(value, option, scalar_key)
        if _fits(converted, option):
            return _coerce_members(converted, option)
    return value


def parse_json(text: str) -> JSON:
    """Parse JSON text; raise ValueError for invalid JSON, including NaN and numbers that overflow."""
    try:
        return storable.json_value(json.loads(text, parse_constant=_refuse_constant))
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None


def to_json_text(value: JSON) -> str:
    """Return compact JSON, with `repr` for values that are not JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
    except (ValueError, TypeError, RecursionError):
        return repr(type(value))


def as_text(value: JSON) -> str:
    """Return text unchanged and any other value as JSON."""
    return value if isinstance(value, str) else to_json_text(value)


def describe(value: JSON) -> str:
    """Describe a value in a message: its type and a shortened form."""
    shown = as_text(value)
    cut = shown if len(shown) <= SHOWN_CHARACTERS else shown[:SHOWN_CHARACTERS] + "…"
    return f"the {_kind(value)} {cut!r}" if isinstance(value, str) else f"the {_kind(value)} {cut}"


def json_type(value: JSON) -> str:
    """Return the JSON type of a value."""
    return next((name for name in PYTHON_TYPES if name != "integer" and _fits(value, {"type": name})), "null")


def _fits(value: JSON, schema: Mapping[str, JSON]) -> bool:
    name = schema.get("type")
    expected = PYTHON_TYPES.get(name) if isinstance(name, str) else None
    if expected is None:
        return True
    return isinstance(value, expected) and (expected is bool or not isinstance(value, bool))


def _convert(value: JSON, schema: Mapping[str, JSON], scalar_key: str | None) -> JSON:
    match schema.get("type"):
        case "string":
            return to_json_text(value)
        case "integer":
            return _to_integer(value)
        case "number":
            return _to_number(value)
        case "boolean":
            return _to_boolean(value)
        case "array":
            return _to_list(value)
        case "object":
            return _to_object(value, scalar_key)
        case _:
            return value


def _to_number(value: JSON) -> JSON:
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        number = int(text) if WHOLE.fullmatch(text) else float(text.replace("_", "x"))
    except ValueError:
        return value
    return number if math.isfinite(number) else value


def _to_integer(value: JSON) -> JSON:
    number = _to_number(value)
    return int(number) if isinstance(number, float) and math.isfinite(number) else number


def _to_boolean(value: JSON) -> JSON:
    if isinstance(value, int | float):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else None
    if word in TRUE_WORDS:
        return True
    return False if word in FALSE_WORDS else value


def _to_list(value: JSON) -> JSON:
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            parsed = parse_json(value)
        except ValueError:
            return [value]
        return parsed if isinstance(parsed, list) else [parsed]
    return [value]


def _to_object(value: JSON, scalar_key: str | None) -> JSON:
    if isinstance(value, str):
        try:
            parsed = parse_json(value)
        except ValueError:
            parsed = None
        if isinstance(parsed, dict):
            return parsed
    return {scalar_key: value} if scalar_key else value


def _coerce_members(value: JSON, schema: Mapping[str, JSON]) -> JSON:
    """Coerce scalars inside a list or object; members are never wrapped in a list."""
    if isinstance(value, list):
        return _members(value, schema.get("items"))
    if isinstance(value, dict):
        member = schema.get("additionalProperties")
        if isinstance(member, Mapping) and _scalar(member):
            kept = {key: item for key, item in value.items() if item is not None}
            return {str(key): coerce(item, member) for key, item in kept.items()}
    return value


def _members(value: list[JSON], member: JSON) -> list[JSON]:
    if isinstance(member, Mapping) and _scalar(member):
        return [item if item is None else coerce(item, member) for item in value]
    if isinstance(member, Mapping) and member.get("type") == "object" and compact_type(member) != "object":
        return [_coerce_members(item, member) for item in value]
    return value


def _scalar(schema: Mapping[str, JSON]) -> bool:
    return schema.get("type") in ("string", "integer", "number", "boolean")


def _refuse_constant(name: str) -> JSON:
    raise ValueError(f"{name} is not valid JSON.")


def _kind(value: JSON) -> str:
    match value:
        case None:
            return "value"
        case bool():
            return "boolean"
        case str():
            return "text"
        case int() | float():
            return "number"
        case list():
            return "list"
        case dict():
            return "object"
        case _:
            return type(value).__name__
