"""Text, JSON and counts from outside, in a form that every database can store.

Everything that stores outside content goes through this module, in one of two ways. A client of ours that sends NUL,
half of a surrogate pair or deep nesting is refused with `check`, because it can send something better. A model server,
an MCP server, a webhook, a tool or a block cannot be asked again, so its content is repaired with `text`, `json_value`
or `nearest_json`: NUL and lone surrogates become U+FFFD, as the Unicode standard recommends. Dropping them could make
two different names equal.
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
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
TOO_DEEP = "[nested too deeply]"
TOO_LARGE = "[a number too large to keep]"


class NotStorable(ValueError):
    """The value cannot be stored in a database."""


# --- text ---------------------------------------------------------------------------------------


def is_text(value: str) -> bool:
    """Return whether a database accepts the text as it is."""
    if "\x00" in value:
        return False
    return value.isascii() or not LONE_SURROGATES.search(value)


def flaw_in(value: str) -> str | None:
    """Describe the first character that no database stores; None when there is none."""
    found = UNSTORABLE.search(value)
    if found is None:
        return None
    kind = "a NUL character" if found[0] == "\x00" else "half of a surrogate pair"
    return f"{kind} (\\u{ord(found[0]):04x})"


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
    return value if _unstorable_text(value) is None else _with_texts(value)


def check(value: JSON, *, max_depth: int = limits.MAX_VALUE_DEPTH) -> None:
    """Raise NotStorable unless a database takes the value as it is."""
    found = _unstorable_text(value, max_depth)
    if found is not None:
        raise NotStorable(f"it contains {flaw_in(found)} in a string")


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
    except ValueError:  # an integer with more digits than Python converts
        return json.loads(document, parse_int=_whole_number)
    except RecursionError:
        raise _too_deep(limits.MAX_VALUE_DEPTH) from None


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= limits.MAX_INTEGER_BITS // 4 else float(digits)


def _unstorable_text(value: JSON, max_depth: int = limits.MAX_VALUE_DEPTH) -> str | None:
    """Return a text that needs repair, found in one walk without recursion; raises NotStorable for the rest."""
    broken: str | None = None
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        kind = type(item)
        if kind is str:
            broken = broken if is_text(item) else item
        elif kind is list or kind is dict:
            if depth >= max_depth:
                raise _too_deep(max_depth)
            if kind is list:
                stack.extend((member, depth + 1) for member in item)
                continue
            for key, member in item.items():
                _check_key(key)
                broken = broken if is_text(key) else key
                stack.append((member, depth + 1))
        else:
            _check_scalar(item)
    return broken


def _too_deep(levels: int) -> NotStorable:
    return NotStorable(f"it is nested too deeply: more than {levels} levels")


def _check_key(key: object) -> None:
    if type(key) is not str:
        raise NotStorable(f"an object has the key {key!r}, which is not text")
    if len(key) > limits.MAX_KEY_CHARACTERS:
        raise NotStorable(f"an object has a key of {len(key):,} characters")


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
    """Return a finite number, also if it was sent as a short text."""
    if isinstance(value, str) and value.isascii() and len(value) <= limits.MAX_NUMBER_CHARACTERS:
        try:
            value = float(value) if set(value) & set(".eE") else int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None
