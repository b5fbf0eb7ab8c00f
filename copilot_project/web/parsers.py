"""Strict parsing of JSON bodies: what no database can store is refused before a view sees it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from copilot_project.web.http_errors import PayloadTooLarge
from durable import storable
from executions.limits import MAX_JSON_DEPTH

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**64 - 1
MAX_INTEGER_CHARACTERS = 20


class BadJson(ParseError):
    """The body is not valid JSON."""

    default_code = "bad_json"
    default_detail = __doc__


class StrictJSONParser(JSONParser):
    """Refuses NUL, lone surrogates, NaN, Infinity, duplicate keys, giant numbers, deep nesting and large bodies."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return loads(read_capped(stream, settings.DATA_UPLOAD_MAX_MEMORY_SIZE))


def read_capped(stream: IO[bytes], most: int | None) -> bytes:
    """Return the body; raise PayloadTooLarge as soon as it exceeds the limit, which DRF does not have."""
    if most is None:
        return stream.read()
    body = stream.read(most + 1)
    if len(body) > most:
        raise PayloadTooLarge(f"The request's body is larger than {most:,} bytes.")
    return body


def loads(body: bytes) -> Any:
    """Parse JSON; raise BadJson with what is wrong and where."""
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
        raise BadJson(f"The body is nested more than {MAX_JSON_DEPTH} levels deep.") from None
    if b"\\u" in body or body.count(b"[") + body.count(b"{") > MAX_JSON_DEPTH:
        check(value)
    return value


def check(value: Any) -> None:
    try:
        storable.check(value, max_depth=MAX_JSON_DEPTH)
    except storable.NotStorable as error:
        raise BadJson(f"The body cannot be stored: {error}.") from None


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            shown = name[:100].encode("utf-8", "backslashreplace").decode()
            raise BadJson(f"The body has the key {json.dumps(shown)} twice in one object. Remove one.")
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
