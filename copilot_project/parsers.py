"""JSON bodies, read strictly: what no database or client could carry on is refused before any view sees it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from copilot_project.refusals import PayloadTooLarge
from durable.limits import MAX_JSON_DEPTH

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**64 - 1
MAX_INTEGER_CHARACTERS = 20
UNPRINTABLE = re.compile("[\x00\ud800-\udfff]")


class BadJson(ParseError):
    """The body is not JSON that can be used."""

    default_code = "bad_json"
    default_detail = __doc__


class StrictJSONParser(JSONParser):
    """No NUL, lone surrogate, NaN, Infinity, duplicate key, giant number or tower of brackets; and a size cap."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return loads(read_capped(stream, settings.DATA_UPLOAD_MAX_MEMORY_SIZE))


def read_capped(stream: IO[bytes], most: int | None) -> bytes:
    """The whole body; PayloadTooLarge as soon as it is known to be over the cap. DRF itself has none."""
    if most is None:
        return stream.read()
    body = stream.read(most + 1)
    if len(body) > most:
        raise PayloadTooLarge(f"The request's body is larger than {most:,} bytes.")
    return body


def loads(body: bytes) -> Any:
    """Parse, or raise BadJson with what is wrong and where."""
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=refuse_duplicates,
            parse_constant=refuse_constant,
            parse_int=checked_integer,
            parse_float=checked_float,
        )
    except UnicodeDecodeError:
        raise BadJson("The body is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise BadJson(
            f"The body is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from None
    except RecursionError:
        raise too_deep() from None
    if b"\\u" in body or body.count(b"[") + body.count(b"{") > MAX_JSON_DEPTH:
        inspect(value)
    return value


def inspect(value: Any) -> None:
    """Walk everything once, without recursion: text that cannot be stored, and nesting that is too deep."""
    level, depth = [value], 0
    while level:
        following: list[Any] = []
        for item in level:
            if isinstance(item, str):
                refuse_unprintable(item)
            elif isinstance(item, dict):
                following += [*item.keys(), *item.values()]
            elif isinstance(item, list):
                following += item
        depth += any(isinstance(item, (dict, list)) for item in level)
        if depth > MAX_JSON_DEPTH:
            raise too_deep()
        level = following


def refuse_unprintable(text: str) -> None:
    found = UNPRINTABLE.search(text)
    if found:
        kind = "a NUL character" if found[0] == "\x00" else "half of a surrogate pair"
        raise BadJson(f"The body contains {kind} (\\u{ord(found[0]):04x}) in a string. Remove it.")


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            shown = name[:100].encode("utf-8", "backslashreplace").decode()
            raise BadJson(f"The body has the key {json.dumps(shown)} twice in one object.")
        seen.add(name)
    raise AssertionError("unreachable: fewer keys than pairs means a double")


def refuse_constant(name: str) -> None:
    raise BadJson(f"The body contains {name}, which is not JSON.")


def checked_integer(text: str) -> int:
    if len(text) > MAX_INTEGER_CHARACTERS or not MIN_INTEGER <= int(text) <= MAX_INTEGER:
        raise BadJson("The body contains a whole number of more than 64 bits. Send it as a string.")
    return int(text)


def checked_float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise BadJson("The body contains a number that is too large. Send it as a string.")
    return number


def too_deep() -> BadJson:
    return BadJson(f"The body is nested more than {MAX_JSON_DEPTH} levels deep.")
