"""From what links and defaults left on a node to the typed inputs a block runs with.

One order for every block: old names, nested pins, nulls dropped, unknown names refused, values coerced to the
pin's type, then checked. Every problem is reported at once, with the pin, what it takes and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from durable import storable
from executions.blocks.base import Block
from executions.blocks.coercion import coerce, describe
from executions.blocks.errors import InputError, OutputError, PinProblem
from executions.blocks.pins import SEPARATOR, merge_pins
from executions.blocks.schema import JSON, BlockInputs, Pin

WHAT_TO_GIVE = {
    "string": "Give text.",
    "integer": "Give a whole number such as 3, or text that holds one.",
    "number": "Give a number such as 3 or 2.5, or text that holds one.",
    "boolean": "Give true or false.",
    "array": "Give a list, or JSON text that holds one.",
    "object": 'Give an object such as {"key": "value"}, or JSON text that holds one.',
    "credentials": "Choose one of your credentials.",
}


def prepare(block: Block, values: Mapping[str, JSON]) -> BlockInputs:
    """The typed inputs of one run; raises InputError with every problem found."""
    known = frozenset(block.inputs_by_name)
    given = _gather_dynamic(block, merge_pins(_rename(block, values), known))
    given = _check_json(block, {name: value for name, value in given.items() if value is not None})
    problems = [_unknown_pin(block, name) for name in given if name not in known]
    problems += [
        _missing_pin(block, pin)
        for pin in block.input_pins
        if pin.required and pin.name not in given and not pin.provided
    ]
    coerced = {
        name: coerce(value, block.inputs_by_name[name].schema, block.inputs_by_name[name].scalar_key)
        for name, value in given.items()
        if name in known
    }
    if not problems:
        try:
            return block.inputs.model_validate(coerced)
        except ValidationError as error:
            problems = _read_problems(block, error)
    raise InputError(problems)


def check_given(block: Block, values: Mapping[str, JSON]) -> list[PinProblem]:
    """What is wrong with these values, whatever else the block will be given: nothing is missing or unknown here."""
    try:
        known = frozenset(block.inputs_by_name)
        given = _gather_dynamic(block, merge_pins(_rename(block, values), known))
        given = _check_json(block, {name: value for name, value in given.items() if value is not None})
    except InputError as error:
        return list(error.problems)
    pins = {name: block.inputs_by_name[name] for name in given if name in known}
    coerced = {name: coerce(given[name], pin.schema, pin.scalar_key) for name, pin in pins.items()}
    try:
        block.inputs.model_validate(coerced)
    except ValidationError as error:
        return _read_problems(block, error, frozenset(coerced))
    return []


def keep_known(block: Block, values: Mapping[str, JSON]) -> dict[str, JSON]:
    """A node's own values without those under names the block does not know: old exports have such, and AutoGPT
    ignores them."""
    known = dynamic_names(block, values) | set(block.inputs_by_name) | set(block.aliases)
    return {
        name: value
        for name, value in values.items()
        if name in known or name in block.ignored_inputs or SEPARATOR.split(name, maxsplit=1)[0] in known
    }


def dynamic_names(block: Block, values: Mapping[str, JSON]) -> set[str]:
    """The pins a node gains from the schema in its own values."""
    need = block.dynamic_inputs
    schema = values.get(need.schema_pin) if need else None
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return set(properties) if isinstance(properties, Mapping) else set()


def check_output(block: Block, pin: str, value: JSON, inputs: BlockInputs) -> None:
    """Raise OutputError when the block may not emit that there."""
    adapter = block.output_adapters.get(pin)
    if adapter is None:
        if block.dynamic_outputs is not None and block.dynamic_outputs(pin, inputs):
            return
        raise OutputError(f"{block.name} emitted on {pin!r}, which is none of its outputs.")
    try:
        adapter.validate_python(value)
    except ValidationError:
        expected = block.outputs_by_name[pin].type
        raise OutputError(
            f"{block.name} emitted {describe(value)} on {pin!r}, which takes {expected}."
        ) from None


def _check_json(block: Block, values: Mapping[str, JSON]) -> dict[str, JSON]:
    """The values with characters no database takes replaced; raises InputError for what has no JSON form."""
    checked: dict[str, JSON] = {}
    for name, value in values.items():
        try:
            checked[name] = storable.json_value(value)
        except ValueError as error:
            message = f"The input {name!r} of {block.name} has no JSON form: {error}."
            raise InputError([PinProblem(pin=name, expected="JSON", message=message)]) from None
    return checked


# --- old names and dynamic pins -----------------------------------------------------------------


def _rename(block: Block, values: Mapping[str, JSON]) -> dict[str, JSON]:
    """Old pin names to new ones; a new name that is there wins."""
    kept = {name: value for name, value in values.items() if name not in block.ignored_inputs}
    for old, new in block.aliases.items():
        if old in kept and old not in block.inputs_by_name:
            kept.setdefault(new.replace(".", "_#_"), kept.pop(old))
    return kept


def _gather_dynamic(block: Block, values: dict[str, JSON]) -> dict[str, JSON]:
    """Pins that come from the node's own schema, gathered on the pin the block reads them from."""
    need = block.dynamic_inputs
    if need is None:
        return values
    schema = values.get(need.schema_pin)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    names = [name for name in values if isinstance(properties, dict) and name in properties]
    own = [name for name in names if name not in block.inputs_by_name]
    gathered = values.get(need.gathered_on)
    if not own or not (gathered is None or isinstance(gathered, dict)):
        return values
    rest = {name: value for name, value in values.items() if name not in own}
    return rest | {need.gathered_on: (gathered or {}) | {name: values[name] for name in own}}


# --- messages -----------------------------------------------------------------------------------


def _unknown_pin(block: Block, name: str) -> PinProblem:
    pins = ", ".join(block.inputs_by_name)
    message = f"{block.name} has no input {name!r}. Its inputs are: {pins}."
    return PinProblem(pin=name, expected="", message=message)


def _missing_pin(block: Block, pin: Pin) -> PinProblem:
    message = f"{block.name} needs the input {pin.name!r} ({pin.type}). {_advice(pin)}"
    return PinProblem(pin=pin.name, expected=pin.type, message=message)


def _read_problems(
    block: Block, error: ValidationError, only: frozenset[str] | None = None
) -> list[PinProblem]:
    """A problem per pin; `only` leaves out all other pins."""
    by_pin: dict[str, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False, include_context=False):
        pin = str(detail["loc"][0]) if detail["loc"] else ""
        if only is None or pin in only:
            by_pin.setdefault(pin, []).append(detail)
    return [_misfit(block, name, details) for name, details in by_pin.items()]


def _misfit(block: Block, name: str, details: list[ErrorDetails]) -> PinProblem:
    """One sentence for a pin, however many branches of its type refused the value."""
    pin = block.inputs_by_name[name]
    first = details[0]
    place = name + "".join(_read_place(first))
    if first["type"] == "missing":
        message = f"The input {name!r} of {block.name} needs {place!r}."
        return PinProblem(pin=name, expected=pin.type, message=message)
    reason = f"{first['msg']}." if len(details) == 1 else ""
    message = (
        f"The input {place!r} of {block.name} takes {pin.type}, not {describe(first['input'])}. {reason}"
    )
    return PinProblem(pin=name, expected=pin.type, message=f"{message.strip()} {_advice(pin)}".strip())


def _read_place(detail: ErrorDetails) -> Iterator[str]:
    """Where inside a pin's value the problem is; names of a union's branches are left out."""
    for part in detail["loc"][1:]:
        if isinstance(part, int):
            yield f"[{part}]"
        elif part.isidentifier() and detail["type"] in ("missing", "extra_forbidden"):
            yield f".{part}"


def _advice(pin: Pin) -> str:
    if pin.enum:
        return f"Give one of: {', '.join(str(choice) for choice in pin.enum)}."
    kind = re.split(r"[<(|]", pin.type, maxsplit=1)[0]
    return WHAT_TO_GIVE.get(kind, "Give it a value or link it.")
