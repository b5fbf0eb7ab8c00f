"""Nested pins: `values_#_key` is an object's key, `list_$_0` a list's index, `item_@_name` an attribute.

Values in an agent are JSON, so an attribute is read and written like a key. A name may hold spaces and
punctuation; only the three separators cannot be part of a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Final

from executions.blocks.errors import InputError, PinProblem

SEPARATOR = re.compile(r"_([#$@])_")
INDEX = re.compile(r"[0-9]{1,9}")


class Kind(StrEnum):
    """How one step goes deeper."""

    KEY = "#"
    INDEX = "$"
    ATTRIBUTE = "@"


class Missing(Enum):
    """The answer of a lookup that found nothing, where null is a value."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step into a value."""

    kind: Kind
    key: str


@dataclass(frozen=True, kw_only=True)
class PinPath:
    """A pin name taken apart: the pin itself and the steps into its value."""

    pin: str
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        return self.pin + "".join(f"_{step.kind}_{step.key}" for step in self.steps)


def parse_pin(name: str) -> PinPath:
    """Take a link's pin name apart; raises InputError for an index that is no number."""
    first, *rest = SEPARATOR.split(name)
    steps = tuple(Step(kind=Kind(kind), key=key) for kind, key in zip(rest[::2], rest[1::2], strict=True))
    for step in steps:
        if step.kind is Kind.INDEX and not INDEX.fullmatch(step.key):
            raise _bad_index(name, step.key)
    return PinPath(pin=first, steps=steps)


def read_pin(value: Any, path: PinPath) -> Any:
    """What the steps of `path` find in the value of its pin, or MISSING."""
    for step in path.steps:
        value = _step_into(value, step)
        if value is MISSING:
            return MISSING
    return value


def read_output(pin: str, value: Any, source_name: str) -> Any:
    """What a link from `source_name` carries when the node emits `value` on `pin`, or MISSING when nothing."""
    if source_name == pin:
        return value
    path = parse_pin(source_name)
    return read_pin(value, path) if path.pin == pin and path.steps else MISSING


def write_pin(value: Any, steps: Sequence[Step], new: Any) -> Any:
    """A copy of `value` with `new` at the place the steps name; missing containers are made on the way.

    An index past the end appends: positions that never come leave no gap.
    """
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if step.kind is Kind.INDEX:
        items = list(value) if isinstance(value, list) else []
        index = int(step.key)
        if index < len(items):
            items[index] = write_pin(items[index], rest, new)
        else:
            items.append(write_pin(None, rest, new))
        return items
    entries = dict(value) if isinstance(value, dict) else {}
    entries[step.key] = write_pin(entries.get(step.key), rest, new)
    return entries


def merge_pins(values: Mapping[str, Any], known: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Fold nested pins into the pins they belong to; a name in `known` is a pin even if it looks nested."""
    whole: dict[str, Any] = {}
    parts: list[tuple[PinPath, Any]] = []
    for name, value in values.items():
        path = PinPath(pin=name, steps=()) if name in known else parse_pin(name)
        if path.steps:
            parts.append((path, value))
        else:
            whole[path.pin] = value
    for path, value in sorted(parts, key=lambda part: _order(part[0])):
        whole[path.pin] = write_pin(whole.get(path.pin), path.steps, value)
    return whole


def _step_into(value: Any, step: Step) -> Any:
    if step.kind is Kind.INDEX:
        if isinstance(value, list) and int(step.key) < len(value):
            return value[int(step.key)]
        return MISSING
    if isinstance(value, dict):
        return value.get(step.key, MISSING)
    return MISSING


def _order(path: PinPath) -> tuple[Any, ...]:
    """Indices in order of their number, so that `_$_10` comes after `_$_9`."""
    keys = tuple(
        (0, int(step.key), "") if step.kind is Kind.INDEX else (1, 0, step.key) for step in path.steps
    )
    return path.pin, keys


def _bad_index(name: str, key: str) -> InputError:
    good = f"{SEPARATOR.split(name)[0]}_$_0"
    message = f"The pin {name!r} has the list index {key!r}. Use a whole number, such as {good}."
    return InputError([PinProblem(pin=name, expected="list index", message=message)])
