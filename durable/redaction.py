"""Redaction of displayed values: secrets are recognised by their names, and replaced."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

REDACTED = "[REDACTED]"
SECRET_NAMES = frozenset(
    {
        "apikey",
        "apisecret",
        "xapikey",
        "password",
        "passwd",
        "secret",
        "secretkey",
        "clientsecret",
        "credential",
        "credentials",
        "token",
        "accesstoken",
        "refreshtoken",
        "idtoken",
        "bearertoken",
        "privatekey",
        "auth",
        "authorization",
        "proxyauthorization",
        "cookie",
        "setcookie",
    }
)
SCHEMA_WORDS = frozenset({"type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"})
SCHEMA_VALUES = frozenset({"default", "const", "enum", "examples", "example", "value"})
SEPARATORS = str.maketrans("", "", "_- .")
# The names that announce a value in prose; others, such as "credentials", are followed by ordinary words.
SECRET_IN_TEXT = re.compile(
    r"(?i)(?:\b(?:bearer|basic|token|secret|password|passwd|authorization|cookie|api[ _-]?key|whsec)\b[\s:=_\"']*+)++"
    r"[^\s,;<>\"']{4,}"
)


def is_secret_name(name: str) -> bool:
    """Return whether a field name means a secret, in any case and with any separators: `X-Api-Key`, `apiKey`."""
    return name.translate(SEPARATORS).lower() in SECRET_NAMES


def is_secret_header(name: str) -> bool:
    """Return whether a header may carry a secret: any name that contains a secret one, such as `X-Gitlab-Token`."""
    plain = name.translate(SEPARATORS).lower()
    return any(secret in plain for secret in SECRET_NAMES)


def redact_text(text: str) -> str:
    """Replace what follows a word such as `password:` or `Bearer` in free text."""
    return SECRET_IN_TEXT.sub(REDACTED, text)


@dataclass(frozen=True, slots=True)
class ValuePath:
    """The position of a value in a tree, as far as it decides whether the value is shown."""

    name: str = ""
    schema_of_secret: bool = False

    def below(self, name: str, value: object) -> ValuePath | None:
        """Return the path of a value under a name; None when it must not be shown.

        A JSON schema that describes a field named `password` is not secret; the values in it are.
        """
        if self.schema_of_secret:
            return None if name in SCHEMA_VALUES else ValuePath(name, schema_of_secret=True)
        if not is_secret_name(name) or value is None or value is True or value is False or value == "":
            return ValuePath(name)
        if self.name == "properties" and isinstance(value, dict) and not SCHEMA_WORDS.isdisjoint(value):
            return ValuePath(name, schema_of_secret=True)
        return None


def redact(value: Any) -> Any:
    """Return a copy of a JSON value with its secrets replaced, however deep it is."""
    result: list[Any] = [None]
    todo: list[tuple[Any, ValuePath, Any, Any]] = [(value, ValuePath(), result, 0)]
    while todo:
        item, place, target, key = todo.pop()
        if isinstance(item, dict):
            copy: Any = dict.fromkeys(item)
            for name, inner in item.items():
                inner_place = place.below(str(name), inner)
                if inner_place is None:
                    copy[name] = REDACTED
                else:
                    todo.append((inner, inner_place, copy, name))
        elif isinstance(item, list | tuple):
            copy = [None] * len(item)
            todo.extend((inner, place, copy, index) for index, inner in enumerate(item))
        else:
            copy = item
        target[key] = copy
    return result[0]
