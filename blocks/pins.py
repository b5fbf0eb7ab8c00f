"""Nested pins: `values_#_key` names a key of an object, `list_$_0` an index of a list, `item_@_name` an attribute.

Values in an agent are JSON, so an attribute is read and written like a key. A key may contain spaces and punctuation,
but none of the three separators.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Final

from blocks.errors import InputError, PinProblem

SEPARATOR = re.compile(r"_([#$@])_")
INDEX = re.compile(r"[0-9]{1,9}")


class PinStepKind(StrEnum):
    """The kind of one step into a value."""

    KEY = "#"
    INDEX = "$"
    ATTRIBUTE = "@"


class MissingValue(Enum):
    """Marks a missing value, as opposed to null."""

    MISSING = "missing"


MISSING: Final = MissingValue.MISSING


@dataclass(frozen=True, kw_only=True)
class PinStep:
    """One step into a value."""

    kind: PinStepKind
    key: str


@dataclass(frozen=True, kw_only=True)
class PinPath:
    """A parsed pin name: the pin and the steps into its value."""

    pin: str
    steps: tuple[PinStep, ...]

    @property
    def name(self) -> str:
        return self.pin + "".join(f"_{step.kind}_{step.key}" for step in self.steps)


def parse_pin(name: str) -> PinPath:
    """Parse a pin name; raise InputError for an index that is not a number."""
    first, *rest = SEPARATOR.split(name)
    steps = tuple(
        PinStep(kind=PinStepKind(kind), key=key) for kind, key in zip(rest[::2], rest[1::2], strict=True)
    )
    for step in steps:
        if step.kind is PinStepKind.INDEX and not INDEX.fullmatch(step.key):
            raise _bad_index(name, step.key)
    return PinPath(pin=first, steps=steps)


def read_pin(value: Any, path: PinPath) -> Any:
    """Return the value that the steps of `path` lead to, or MISSING."""
    for step in path.steps:
        value = _step_into(value, step)
        if value is MISSING:
            return MISSING
    return value


def write_pin(value: Any, steps: Sequence[PinStep], new: Any) -> Any:
    """Return a copy of `value` with `new` at the end of the steps; missing containers are created.

    An index past the end appends, so that missing positions leave no gap.
    """
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if step.kind is PinStepKind.INDEX:
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
    """Merge nested pins into their pins; a name in `known` is a pin even if it looks nested."""
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


def _step_into(value: Any, step: PinStep) -> Any:
    if step.kind is PinStepKind.INDEX:
        if isinstance(value, list) and int(step.key) < len(value):
            return value[int(step.key)]
        return MISSING
    if isinstance(value, dict):
        return value.get(step.key, MISSING)
    return MISSING


def _order(path: PinPath) -> tuple[Any, ...]:
    """Sort indices numerically, so that `_$_10` comes after `_$_9`."""
    keys = tuple(
        (0, int(step.key), "") if step.kind is PinStepKind.INDEX else (1, 0, step.key) for step in path.steps
    )
    return path.pin, keys


def _bad_index(name: str, key: str) -> InputError:
    good = f"{SEPARATOR.split(name)[0]}_$_0"
    message = f"The pin {name!r} has the invalid list index {key!r}. Use a whole number, such as {good}."
    return InputError([PinProblem(pin=name, expected="list index", message=message)])
