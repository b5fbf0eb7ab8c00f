"""JSON schemas that come with an agent, from outside: used to check values, never to fetch or to compute."""

from __future__ import annotations

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable

from executions.blocks.coercion import coerce
from executions.blocks.errors import BlockFailed
from executions.blocks.schema import JSON, Object

# Patterns could run for ever, references could lead anywhere; both are left to the agent or server itself.
LEFT_OUT = frozenset({"pattern", "patternProperties", "$ref", "$dynamicRef", "$schema", "$id", "format"})
MAX_SCHEMA_DEPTH = 50


def fit_values(values: Object, schema: Object) -> Object:
    """The values coerced to the types the schema names, nulls dropped; raises BlockFailed when they do not fit."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    given = {name: value for name, value in values.items() if value is not None}
    fitted = {name: fit_value(value, known.get(name)) for name, value in given.items()}
    check(fitted, trim(schema, 0))
    return fitted


def fit_value(value: JSON, schema: JSON) -> JSON:
    if not isinstance(schema, dict) or not isinstance(schema.get("type"), str):
        return value
    return coerce(value, {"type": schema["type"]})


def check(values: Object, schema: Object) -> None:
    try:
        Draft202012Validator.check_schema(schema)
        error = best_match(Draft202012Validator(schema, registry=Registry()).iter_errors(values))
    except (SchemaError, Unresolvable, TypeError, ValueError, AttributeError, RecursionError):
        raise BlockFailed("The input schema of this node cannot be read.") from None
    if error is not None:
        place = ".".join(str(part) for part in error.absolute_path)
        raise BlockFailed(
            f"The input {place!r} does not fit: {error.message}." if place else f"{error.message}."
        )


def trim(schema: JSON, depth: int) -> JSON:
    """The schema without what could hang or reach out."""
    if depth > MAX_SCHEMA_DEPTH:
        raise BlockFailed("The input schema of this node is nested too deeply.")
    if isinstance(schema, list):
        return [trim(part, depth + 1) for part in schema]
    if isinstance(schema, dict):
        return {key: trim(part, depth + 1) for key, part in schema.items() if key not in LEFT_OUT}
    return schema
