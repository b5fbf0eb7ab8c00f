"""Validation of an execution's inputs against the schema of its agent."""

from __future__ import annotations

from collections.abc import Mapping

from jsonschema.exceptions import SchemaError, UnknownType
from referencing.exceptions import Unresolvable

from blocks.coercion import coerce
from blocks.errors import BlockFailed
from blocks.ports import JSON
from blocks.support.schemas import best_error, trim
from durable import storable
from executions import limits
from executions.engine.large_values import size_of
from executions.errors import BadInputs


def fit_inputs(values: Mapping[str, JSON], schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the values in the types of the schema, without nulls; raise BadInputs with every problem."""
    if size_of(dict(values), limits.MAX_INPUT_BYTES) > limits.MAX_INPUT_BYTES:
        raise BadInputs(
            {"": f"The inputs are larger than {limits.MAX_INPUT_BYTES:,} bytes. Give large ones as files."}
        )
    properties = schema.get("properties") or {}
    fitted: dict[str, JSON] = {}
    problems: dict[str, str] = {}
    for name, value in values.items():
        if name not in properties:
            problems[name] = f"There is no input {name!r}. {name_inputs(properties)}"
        elif value is not None:
            try:
                fitted[name] = fit_input(value, properties[name])
            except ValueError as error:
                problems[name] = str(error)
    for name in schema.get("required") or []:
        if name not in fitted and name not in problems:
            problems[name] = "This input is required."
    if problems:
        raise BadInputs(problems)
    return fitted


def fit_input(value: JSON, schema: JSON) -> JSON:
    """Return one value in the type of its schema; raise ValueError with a sentence for the user."""
    try:
        clean = storable.json_value(value)
    except ValueError as error:
        raise ValueError(f"This has no JSON form: {error}.") from None
    if not isinstance(schema, dict):
        return clean
    fitted = coerce(clean, schema)
    try:
        wanted = trim(schema, 0)
        found = best_error(fitted, wanted)
    except (SchemaError, UnknownType, Unresolvable, BlockFailed, TypeError, AttributeError, RecursionError):
        return fitted  # a schema that cannot be read refuses nothing; the block itself checks its value
    if found is not None:
        raise ValueError(f"{found.message}."[: limits.MAX_SHOWN_OUTPUT_CHARACTERS])
    return fitted


def name_inputs(properties: Mapping[str, JSON]) -> str:
    return f"This agent takes: {', '.join(properties)}." if properties else "This agent takes no inputs."
