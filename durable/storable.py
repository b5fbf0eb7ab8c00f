"""The gate for what comes from outside: text, JSON and counts that every database takes.

A model server, an MCP server, a webhook, a tool or a block may send anything. What passes through here can be
stored on PostgreSQL and SQLite and sent to any client. NUL and halves of characters become U+FFFD, as the Unicode
standard recommends: dropping them could make two different names equal.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, TypeAlias

from durable import limits

JSON: TypeAlias = Any
REPLACEMENT = "\ufffd"
LONE_SURROGATES = re.compile("[\ud800-\udfff]")
TOO_DEEP = "[nested too deeply]"
TOO_LARGE = "[a number too large to keep]"


class NotStorable(ValueError):
    """The value has no form that a database takes."""


# --- text ---------------------------------------------------------------------------------------


def is_text(value: str) -> bool:
    """Whether a database takes the text as it is."""
    if "\x00" in value:
        return False
    return value.isascii() or not LONE_SURROGATES.search(value)


def text(value: str, *, most: int | None = None) -> str:
    """Return the text with NUL and lone surrogates replaced, pairs of surrogates joined, cut to `most` characters."""
    if most is not None and len(value) > most:
        value = value[:most]
    if is_text(value):
        return value
    joined = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", REPLACEMENT)


# --- JSON ---------------------------------------------------------------------------------------


def json_value(value: JSON) -> JSON:
    """Return the value with its texts made storable; raises NotStorable for what has no JSON form."""
    return _with_texts(value) if _needs_repair(value) else value


def nearest_json(value: JSON) -> JSON:
    """Return the nearest value that can be stored. Never raises: what has no JSON form is left out or described."""
    try:
        return json_value(value)
    except NotStorable:
        return _nearest(value, 0)


def loads(document: str | bytes) -> JSON:
    """Parse JSON whose numbers may be of any size; raises ValueError, also for nesting without end."""
    try:
        return json.loads(document)
    except json.JSONDecodeError:
        raise
    except ValueError:  # a whole number of more digits than Python converts
        return json.loads(document, parse_int=_whole_number)
    except RecursionError:
        raise NotStorable("it is nested too deeply") from None


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= limits.MAX_INTEGER_BITS // 4 else float(digits)


def _needs_repair(value: JSON) -> bool:
    """One walk without recursion: most values are fine and are not copied."""
    broken = False
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        kind = type(item)
        if kind is str:
            broken = broken or not is_text(item)
        elif kind is list or kind is dict:
            if depth >= limits.MAX_VALUE_DEPTH:
                raise NotStorable("it is nested too deeply")
            if kind is list:
                stack.extend((member, depth + 1) for member in item)
                continue
            for key, member in item.items():
                broken = _check_key(key) or broken
                stack.append((member, depth + 1))
        else:
            _check_scalar(item)
    return broken


def _check_key(key: object) -> bool:
    """Whether the key needs repair."""
    if type(key) is not str:
        raise NotStorable(f"an object has the key {key!r}, which is no text")
    if len(key) > limits.MAX_KEY_CHARACTERS:
        raise NotStorable(f"an object has a key of {len(key):,} characters")
    return not is_text(key)


def _check_scalar(item: object) -> None:
    kind = type(item)
    if item is None or kind is bool:
        return
    if kind is float:
        if not math.isfinite(item):  # type: ignore[arg-type]
            raise NotStorable("infinity and NaN have no JSON form")
    elif kind is not int:
        raise NotStorable(f"{kind.__name__} has no JSON form")
    elif item.bit_length() > limits.MAX_INTEGER_BITS:  # type: ignore[attr-defined]
        raise NotStorable("a whole number has too many digits")


def _with_texts(value: JSON) -> JSON:
    match value:
        case str():
            return text(value)
        case list():
            return [_with_texts(member) for member in value]
        case dict():
            return {text(key): _with_texts(member) for key, member in value.items()}
        case _:
            return value


def _nearest(value: object, depth: int) -> JSON:
    match value:
        case str():
            return text(value)
        case list() | tuple() | set() | frozenset() | dict() if depth >= limits.MAX_VALUE_DEPTH:
            return TOO_DEEP
        case list() | tuple() | set() | frozenset():
            return [_nearest(member, depth + 1) for member in value]
        case dict():
            most = limits.MAX_KEY_CHARACTERS
            return {text(str(key), most=most): _nearest(member, depth + 1) for key, member in value.items()}
        case None | bool():
            return value
        case int():
            return int(value) if value.bit_length() <= limits.MAX_INTEGER_BITS else TOO_LARGE
        case float():
            return float(value) if math.isfinite(value) else None
        case _:
            return f"[{type(value).__name__}]"


# --- numbers ------------------------------------------------------------------------------------


def count(value: object, *, most: int) -> int | None:
    """Return a reported count, or None when it is no whole number from 0 to `most`."""
    number = _number(value)
    if number is None or not 0 <= number <= most or number != int(number):
        return None
    return int(number)


def amount(value: object, *, most: Decimal) -> Decimal | None:
    """Return a reported amount of money, or None when it is no number from 0 to `most`."""
    number = _number(value)
    return None if number is None or not 0 <= number <= most else Decimal(str(number))


def _number(value: object) -> int | float | None:
    """A finite number, also one that was sent as a short text."""
    if isinstance(value, str) and value.isascii() and len(value) <= limits.MAX_NUMBER_CHARACTERS:
        try:
            value = float(value) if set(value) & set(".eE") else int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None
