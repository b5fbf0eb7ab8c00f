"""Encode any Python value as JSON in pieces, however deep or large it is."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from durable import limits, storable
from durable.redaction import REDACTED, ValuePath

PIECE = 64 * 1024


def plain(value: Any) -> Any:
    """Return the nearest JSON type of the outermost layer: dict, list, str, number, bool or None."""
    match value:
        case None | bool() | str() | dict() | list():
            return value
        case enum.Enum():
            return plain(value.value)
        case int():
            return value if value.bit_length() <= limits.MAX_INTEGER_BITS else "[a number too large to show]"
        case float():
            return value if math.isfinite(value) else None
        case BaseModel():
            return {name: getattr(value, name) for name in type(value).model_fields} | (
                value.model_extra or {}
            )
        case Mapping():
            return dict(value)
        case tuple() | set() | frozenset() | deque():
            return list(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID() | Decimal() | PurePath():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return f"[{len(value):,} bytes]"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return f"[{type(value).__name__}]"


def json_pieces(value: Any, convert: Callable[[str], str] = lambda text: text) -> Iterator[str]:
    """Yield the JSON text of a value in pieces, without secrets, every text passed through `convert`.

    Works without recursion, so depth is no problem. A cycle is cut where it closes.
    """
    stack = [_Frame(entries=iter([("", value, ValuePath())]), end="", identity=0)]
    path: set[int] = set()
    while stack:
        frame = stack[-1]
        entry = next(frame.entries, None)
        if entry is None:
            stack.pop()
            path.discard(frame.identity)
            yield frame.end
            continue
        before, item, place = entry
        yield before
        identity = id(item)
        item = REDACTED if place is None else plain(item)
        if isinstance(item, str):
            yield from _string_pieces(convert(item))
        elif not isinstance(item, dict | list):
            yield json.dumps(item)
        elif identity in path:
            yield '"[the same as above]"'
        else:
            path.add(identity)
            entries = (
                _of_dict(item, place or ValuePath())
                if isinstance(item, dict)
                else _of_list(item, place or ValuePath())
            )
            start, end = "{}" if isinstance(item, dict) else "[]"
            stack.append(_Frame(entries=entries, end=end, identity=identity))
            yield start


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """A container that is being encoded."""

    entries: Iterator[tuple[str, Any, ValuePath | None]]
    end: str
    identity: int


def _of_dict(value: dict[Any, Any], place: ValuePath) -> Iterator[tuple[str, Any, ValuePath | None]]:
    comma = ""
    for key, item in value.items():
        name = storable.text(str(key))
        yield f"{comma}{json.dumps(name, ensure_ascii=False)}: ", item, place.below(name, item)
        comma = ", "


def _of_list(value: list[Any], place: ValuePath) -> Iterator[tuple[str, Any, ValuePath | None]]:
    comma = ""
    for item in value:
        yield comma, item, place
        comma = ", "


def _string_pieces(text: str) -> Iterator[str]:
    yield '"'
    for start in range(0, len(text), PIECE):
        yield json.dumps(storable.text(text[start : start + PIECE]), ensure_ascii=False)[1:-1]
    yield '"'
