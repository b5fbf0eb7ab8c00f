"""JSON schemas that come with an agent, from outside: used to check values, never to fetch or to compute."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from executions.blocks.coercion import coerce
from executions.blocks.errors import BlockFailed
from executions.blocks.schema import JSON, Object

# Patterns could run for ever, references could lead anywhere; both are left to the agent or server itself.
LEFT_OUT = frozenset({"pattern", "patternProperties", "$ref", "$dynamicRef", "$schema", "$id", "format"})
MAX_SCHEMA_DEPTH = 50
MAX_SCHEMA_ERRORS = 100  # each has its own message
MAX_SHOWN_CHOICES = 50
MAX_SHOWN_CHARACTERS = 200


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
        check_schema(schema)
        error = best_error(values, schema)
    except (SchemaError, Unresolvable, TypeError, ValueError, AttributeError, RecursionError):
        raise BlockFailed("The input schema of this node cannot be read.") from None
    if error is not None:
        place = ".".join(str(part) for part in error.absolute_path)
        raise BlockFailed(
            f"The input {place!r} does not fit: {error.message}." if place else f"{error.message}."
        )


def best_error(value: JSON, schema: JSON) -> ValidationError | None:
    """What is most wrong with a value among the first problems found; raises what an unreadable schema raises.

    `uniqueItems` and `enum` go through a value once: the library compares every item with every other one.
    """
    errors = new_validator()(schema, registry=Registry()).iter_errors(value)
    worst: ValidationError | None = best_match(islice(errors, MAX_SCHEMA_ERRORS))
    return worst


def check_schema(schema: JSON) -> None:
    """Raise SchemaError if it is no JSON schema; the library's own check has the same slow keywords."""
    for error in new_validator()(Draft202012Validator.META_SCHEMA).iter_errors(schema):
        raise SchemaError.create_from(error)


def new_validator() -> Any:
    return extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"uniqueItems": check_unique, "enum": Choices().check}
    )


def check_unique(validator: Any, wanted: Any, value: JSON, schema: Any) -> Iterator[ValidationError]:
    if wanted is True and isinstance(value, list) and len({hashable(item) for item in value}) < len(value):
        yield ValidationError("There are items that are the same")


class Choices:
    """The choices of each `enum`, made comparable once per check."""

    def __init__(self) -> None:
        self._known: dict[int, frozenset[Any]] = {}  # by the identity of the list, which the schema holds

    def check(self, validator: Any, choices: Any, value: JSON, schema: Any) -> Iterator[ValidationError]:
        if id(choices) not in self._known:
            self._known[id(choices)] = frozenset(hashable(choice) for choice in choices)
        if hashable(value) not in self._known[id(choices)]:
            given, known = (
                shorten(value),
                ", ".join(shorten(choice) for choice in choices[:MAX_SHOWN_CHOICES]),
            )
            more = " …" if len(choices) > MAX_SHOWN_CHOICES else ""
            yield ValidationError(f"{given} is not one of [{known}{more}]")


def hashable(value: JSON) -> Any:
    """The value in a form that equals another one exactly when JSON Schema says so: 1 is 1.0, and true is not 1."""
    match value:
        case bool():
            return ("bool", value)
        case list():
            return ("list", tuple(hashable(item) for item in value))
        case dict():
            return ("dict", frozenset((name, hashable(item)) for name, item in value.items()))
        case _:
            return value


def shorten(value: JSON) -> str:
    """The value for a message, without going through all of a long one."""
    if isinstance(value, str):
        return repr(value[:MAX_SHOWN_CHARACTERS])
    if isinstance(value, list | dict):
        return f"a {'list' if isinstance(value, list) else 'dictionary'} of {len(value)}"
    return repr(value)[:MAX_SHOWN_CHARACTERS]


def trim(schema: JSON, depth: int) -> JSON:
    """The schema without what could hang or reach out."""
    if depth > MAX_SCHEMA_DEPTH:
        raise BlockFailed("The input schema of this node is nested too deeply.")
    if isinstance(schema, list):
        return [trim(part, depth + 1) for part in schema]
    if isinstance(schema, dict):
        return {key: trim(part, depth + 1) for key, part in schema.items() if key not in LEFT_OUT}
    return schema
