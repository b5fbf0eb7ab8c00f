"""Turn the values of links and defaults into the typed inputs of a block.

For every block: rename old pins, merge nested pins, drop nulls, refuse unknown names, coerce values to the pin's type
and validate them. All problems are reported at once, with the pin, the expected type and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from blocks.base import Block
from blocks.coercion import coerce, describe
from blocks.errors import InputError, OutputError, PinProblem
from blocks.pins import SEPARATOR, merge_pins
from blocks.schema import JSON, BlockInputs, PinInfo
from durable import storable

WHAT_TO_GIVE = {
    "string": "Enter text.",
    "integer": "Enter a whole number such as 3, or text that contains one.",
    "number": "Enter a number such as 3 or 2.5, or text that contains one.",
    "boolean": "Enter true or false.",
    "array": "Enter a list, or JSON text of one.",
    "object": 'Enter an object such as {"key": "value"}, or JSON text of one.',
    "credentials": "Choose one of your credentials.",
}


def prepare(block: Block, values: Mapping[str, JSON]) -> BlockInputs:
    """Return the typed inputs of one run; raise InputError with all problems."""
    given = _collect(block, values)
    problems = [_unknown_pin(block, name) for name in given if name not in block.inputs_by_name]
    problems += [
        _missing_pin(block, pin)
        for pin in block.input_pins
        if pin.required and pin.name not in given and not pin.provided
    ]
    if not problems:
        try:
            return block.inputs.model_validate(_coerce_known(block, given))
        except ValidationError as error:
            problems = _read_problems(block, error)
    raise InputError(problems)


def check_given(block: Block, values: Mapping[str, JSON]) -> list[PinProblem]:
    """Return the problems with these values alone; missing and unknown pins are not reported."""
    try:
        coerced = _coerce_known(block, _collect(block, values))
    except InputError as error:
        return list(error.problems)
    try:
        block.inputs.model_validate(coerced)
    except ValidationError as error:
        return _read_problems(block, error, frozenset(coerced))
    return []


def keep_known(block: Block, values: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a node's own values without unknown names, which old exports contain and AutoGPT ignores."""
    known = dynamic_names(block, values) | set(block.inputs_by_name) | set(block.aliases)
    return {
        name: value
        for name, value in values.items()
        if name in known or name in block.ignored_inputs or SEPARATOR.split(name, maxsplit=1)[0] in known
    }


def dynamic_names(block: Block, values: Mapping[str, JSON]) -> set[str]:
    """Return the names of the dynamic input pins that the node's own values define."""
    need = block.dynamic_inputs
    schema = values.get(need.schema_pin) if need else None
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return set(properties) if isinstance(properties, Mapping) else set()


def check_output(block: Block, pin: str, value: JSON, inputs: BlockInputs) -> None:
    """Raise OutputError if the block may not emit this value on this pin."""
    adapter = block.output_adapters.get(pin)
    if adapter is None:
        if block.dynamic_outputs is not None and block.dynamic_outputs(pin, inputs):
            return
        raise OutputError(f"{block.name} emitted on {pin!r}, which is not one of its outputs.")
    try:
        adapter.validate_python(value)
    except ValidationError:
        expected = block.outputs_by_name[pin].type
        raise OutputError(
            f"{block.name} emitted {describe(value)} on {pin!r}, which expects {expected}."
        ) from None


def _collect(block: Block, values: Mapping[str, JSON]) -> dict[str, JSON]:
    """Resolve old names and nested pins, and drop nulls."""
    known = frozenset(block.inputs_by_name)
    given = _gather_dynamic(block, merge_pins(_rename(block, values), known))
    return _check_json(block, {name: value for name, value in given.items() if value is not None})


def _coerce_known(block: Block, given: Mapping[str, JSON]) -> dict[str, JSON]:
    pins = {name: block.inputs_by_name[name] for name in given if name in block.inputs_by_name}
    return {name: coerce(given[name], pin.schema, pin.scalar_key) for name, pin in pins.items()}


def _check_json(block: Block, values: Mapping[str, JSON]) -> dict[str, JSON]:
    """Replace characters that databases cannot store; raise InputError for values that are not JSON."""
    checked: dict[str, JSON] = {}
    for name, value in values.items():
        try:
            checked[name] = storable.json_value(value)
        except ValueError as error:
            message = f"The input {name!r} of {block.name} cannot be represented as JSON: {error}."
            raise InputError([PinProblem(pin=name, expected="JSON", message=message)]) from None
    return checked


# --- old names and dynamic pins -----------------------------------------------------------------


def _rename(block: Block, values: Mapping[str, JSON]) -> dict[str, JSON]:
    """Replace old pin names by new ones; a value under the new name wins."""
    kept = {name: value for name, value in values.items() if name not in block.ignored_inputs}
    for old, new in block.aliases.items():
        if old in kept and old not in block.inputs_by_name:
            kept.setdefault(new.replace(".", "_#_"), kept.pop(old))
    return kept


def _gather_dynamic(block: Block, values: dict[str, JSON]) -> dict[str, JSON]:
    """Collect dynamic input pins on the pin from which the block reads them."""
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


def _missing_pin(block: Block, pin: PinInfo) -> PinProblem:
    message = f"{block.name} needs the input {pin.name!r} ({pin.type}). {_advice(pin)}"
    return PinProblem(pin=pin.name, expected=pin.type, message=message)


def _read_problems(
    block: Block, error: ValidationError, only: frozenset[str] | None = None
) -> list[PinProblem]:
    """Return one problem per pin; `only` restricts the pins."""
    by_pin: dict[str, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False, include_context=False):
        pin = str(detail["loc"][0]) if detail["loc"] else ""
        if only is None or pin in only:
            by_pin.setdefault(pin, []).append(detail)
    return [_misfit(block, name, details) for name, details in by_pin.items()]


def _misfit(block: Block, name: str, details: list[ErrorDetails]) -> PinProblem:
    """Return one problem for a pin, however many branches of its type refused the value."""
    pin = block.inputs_by_name[name]
    first = details[0]
    path = name + "".join(_read_path(first))
    if first["type"] == "missing":
        message = f"The input {name!r} of {block.name} needs {path!r}."
        return PinProblem(pin=name, expected=pin.type, message=message)
    reason = f"{first['msg']}." if len(details) == 1 else ""
    message = (
        f"The input {path!r} of {block.name} expects {pin.type}, not {describe(first['input'])}. {reason}"
    )
    return PinProblem(pin=name, expected=pin.type, message=f"{message.strip()} {_advice(pin)}".strip())


def _read_path(detail: ErrorDetails) -> Iterator[str]:
    """Yield the path of a problem inside a pin's value, without the branches of a union."""
    for part in detail["loc"][1:]:
        if isinstance(part, int):
            yield f"[{part}]"
        elif part.isidentifier() and detail["type"] in ("missing", "extra_forbidden"):
            yield f".{part}"


def _advice(pin: PinInfo) -> str:
    if pin.enum:
        return f"Use one of: {', '.join(str(choice) for choice in pin.enum)}."
    kind = re.split(r"[<(|]", pin.type, maxsplit=1)[0]
    return WHAT_TO_GIVE.get(kind, "Set a value or link it.")
