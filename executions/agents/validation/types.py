"""Type compatibility of pins, including conversion at run time."""

from __future__ import annotations

from collections.abc import Mapping

from blocks.schema import JSON, compact_type

NUMBERS = frozenset({"integer", "number"})
SCALARS = NUMBERS | {"boolean", "string"}
# What can be converted to each type; text may contain any of them, and everything fits text and a list of one.
BECOMES: Mapping[str, frozenset[str]] = {
    "string": frozenset({*SCALARS, "array", "object"}),
    "array": frozenset({*SCALARS, "array", "object"}),
    "integer": SCALARS,
    "number": SCALARS,
    "boolean": SCALARS,
    "object": frozenset({"object", "string"}),
}
CONVERTED = {"integer": "number", "number": "number", "boolean": "boolean", "object": "dictionary"}


def kinds_of(schema: Mapping[str, JSON]) -> frozenset[str]:
    """Return the JSON types a schema allows, without null; empty means any."""
    options = schema.get("anyOf")
    if isinstance(options, list):
        kinds = [
            kinds_of(option) for option in options if isinstance(option, Mapping) and not is_null(option)
        ]
        return frozenset() if frozenset() in kinds else frozenset().union(*kinds)
    kind = schema.get("type")
    names = kind if isinstance(kind, list) else [kind]
    known = frozenset(name for name in names if isinstance(name, str) and name in BECOMES)
    return known if known and all(name in BECOMES or name == "null" for name in names) else frozenset()


def is_null(schema: Mapping[str, JSON]) -> bool:
    return schema.get("type") == "null"


def can_fit(source: Mapping[str, JSON], sink: Mapping[str, JSON], *, scalar_key: str | None = None) -> bool:
    """Return whether some value of the source's type fits the sink's."""
    given, taken = kinds_of(source), kinds_of(sink)
    if not given or not taken or (scalar_key and "object" in taken):
        return True
    return any(kind in BECOMES[wanted] for wanted in taken for kind in given)


def converter_type(sink: Mapping[str, JSON]) -> str:
    """Return the target type of a Universal Type Converter for the sink; empty when it cannot help."""
    return next((CONVERTED[kind] for kind in sorted(kinds_of(sink)) if kind in CONVERTED), "")


def shown_type(schema: Mapping[str, JSON]) -> str:
    """Return a schema's type for messages; the schema may be malformed."""
    try:
        return compact_type(schema)[:80]
    except (KeyError, TypeError, AttributeError, RecursionError):
        return "any"
