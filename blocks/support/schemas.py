"""Validate values against untrusted JSON schemas from agents and servers, without fetching or heavy computation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from blocks.coercion import coerce
from blocks.errors import BlockFailed
from blocks.schema import JSON, Object
from blocks.support.equality import distinct, equality_key

# Patterns could run forever and references could point anywhere; the agent or server checks those itself.
LEFT_OUT = frozenset({"pattern", "patternProperties", "$ref", "$dynamicRef", "$schema", "$id", "format"})
MAX_SCHEMA_DEPTH = 50
MAX_SCHEMA_ERRORS = 100  # each error carries a message
MAX_SHOWN_CHOICES = 50
MAX_SHOWN_CHARACTERS = 200


def fit_values(values: Object, schema: Object) -> Object:
    """Coerce values to the types of the schema and drop nulls; raise BlockFailed if they do not match."""
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
        check_schema(schema)
        error = best_error(values, schema)
    except (SchemaError, Unresolvable, TypeError, ValueError, AttributeError, RecursionError):
        raise BlockFailed("The input schema of this node is invalid.") from None
    if error is not None:
        path = ".".join(str(part) for part in error.absolute_path)
        raise BlockFailed(f"The input {path!r} is invalid: {error.message}." if path else f"{error.message}.")


def best_error(value: JSON, schema: JSON) -> ValidationError | None:
    """Return the most relevant error among the first ones, or None; an invalid schema raises.

    `uniqueItems` and `enum` take linear time here; the library compares every pair of items.
    """
    errors = new_validator()(schema, registry=Registry()).iter_errors(value)
    worst: ValidationError | None = best_match(islice(errors, MAX_SCHEMA_ERRORS))
    return worst


def check_schema(schema: JSON) -> None:
    """Raise SchemaError for an invalid schema; the library's own check has the same slow keywords."""
    for error in new_validator()(Draft202012Validator.META_SCHEMA).iter_errors(schema):
        raise SchemaError.create_from(error)


def new_validator() -> Any:
    return extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"uniqueItems": check_unique, "enum": Choices().check}
    )


def check_unique(validator: Any, wanted: Any, value: JSON, schema: Any) -> Iterator[ValidationError]:
    if wanted is True and isinstance(value, list) and len(distinct(value)) < len(value):
        yield ValidationError("The items are not unique")


class Choices:
    """The choices of each `enum` as hashable keys, computed once per check."""

    def __init__(self) -> None:
        self._known: dict[int, frozenset[Any]] = {}  # by id() of the list, which the schema keeps alive

    def check(self, validator: Any, choices: Any, value: JSON, schema: Any) -> Iterator[ValidationError]:
        if id(choices) not in self._known:
            self._known[id(choices)] = frozenset(equality_key(choice) for choice in choices)
        if equality_key(value) not in self._known[id(choices)]:
            given, known = (
                shorten(value),
                ", ".join(shorten(choice) for choice in choices[:MAX_SHOWN_CHOICES]),
            )
            more = " …" if len(choices) > MAX_SHOWN_CHOICES else ""
            yield ValidationError(f"{given} is not one of [{known}{more}]")


def shorten(value: JSON) -> str:
    """Return a shortened value for a message, without traversing a large one."""
    if isinstance(value, str):
        return repr(value[:MAX_SHOWN_CHARACTERS])
    if isinstance(value, list | dict):
        return f"a {'list' if isinstance(value, list) else 'dictionary'} of {len(value)}"
    return repr(value)[:MAX_SHOWN_CHARACTERS]


def trim(schema: JSON, depth: int) -> JSON:
    """Remove the keywords that could hang or fetch something."""
    if depth > MAX_SCHEMA_DEPTH:
        raise BlockFailed("The input schema of this node is nested too deeply.")
    if isinstance(schema, list):
        return [trim(part, depth + 1) for part in schema]
    if isinstance(schema, dict):
        return {key: trim(part, depth + 1) for key, part in schema.items() if key not in LEFT_OUT}
    return schema
