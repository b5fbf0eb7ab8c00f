"""Payloads of calls, parsed from JSON, forms or text into an object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from email.message import Message
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import QueryDict

from blocks.ports import JSON
from durable import storable
from durable.redaction import REDACTED, is_secret_header
from executions import limits
from executions.errors import BadPayload

WHOLE = "body"  # the key of a payload that is not an object
GITHUB_FIELD = "payload"


def read_payload(body: bytes, content_type: str) -> dict[str, JSON]:
    """Return the payload as an object; a list, a number or text becomes its `body`. Raises BadPayload."""
    kind = media_type(content_type)
    if not body.strip():
        return {}
    if kind == "application/x-www-form-urlencoded":
        return kept(read_form(body))
    if kind.startswith("multipart/"):
        raise BadPayload("Forms with files are not supported. Send JSON, a plain form, or text.")
    text = decode(body)
    if kind == "application/json" or kind.endswith("+json"):
        return kept(as_object(parse(text)))
    return kept({WHOLE: text})


def media_type(content_type: str) -> str:
    """Return the media type; JSON by default, because nearly all callers send it."""
    message = Message()
    message["content-type"] = content_type or "application/json"
    return message.get_content_type()


def decode(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadPayload("The body is not UTF-8 text.") from None


def parse(text: str) -> JSON:
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise BadPayload(f"The body is not valid JSON: {error}.") from None
    except (RecursionError, ValueError):
        raise BadPayload(
            "The body is JSON that cannot be used: a number is too large, or it is nested too deeply."
        ) from None


def refuse_constant(name: str) -> None:
    raise BadPayload(f"The body contains {name}, which is not JSON.")


def read_form(body: bytes) -> dict[str, JSON]:
    """Return the fields of a form; repeated ones as a list. GitHub puts its JSON into one field."""
    try:
        fields = QueryDict(body, encoding="utf-8")
    except (SuspiciousOperation, ValueError):
        raise BadPayload("The form cannot be read.") from None
    values: dict[str, Any] = {
        name: found if len(found) > 1 else found[0] for name, found in fields.lists() if found
    }
    if set(values) == {GITHUB_FIELD} and isinstance(values[GITHUB_FIELD], str):
        try:
            return as_object(parse(values[GITHUB_FIELD]))
        except BadPayload:
            return values
    return values


def as_object(value: JSON) -> dict[str, JSON]:
    return value if isinstance(value, dict) else {WHOLE: value}


def kept(payload: dict[str, JSON]) -> dict[str, JSON]:
    """Return the payload as it is stored; raises BadPayload if it has no JSON form."""
    try:
        return dict(storable.json_value(payload))
    except storable.NotStorable as error:
        raise BadPayload(f"The body cannot be stored: {error}.") from None


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the first headers, cut, with secrets redacted."""
    few = list(headers.items())[: limits.MAX_HOOK_HEADERS]
    return {name: shown_header(name, value) for name, value in few}


def shown_header(name: str, value: str) -> str:
    if is_secret_header(name):
        return REDACTED
    return storable.text(value, most=limits.MAX_HOOK_HEADER_CHARACTERS)
