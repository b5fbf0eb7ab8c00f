"""Which values are secret by the name they go under, and how they are shown instead."""

from __future__ import annotations

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


def is_secret_name(name: str) -> bool:
    """Whether values under this name are secret, in any case and with any separators: `X-Api-Key`, `apiKey`."""
    return name.translate(SEPARATORS).lower() in SECRET_NAMES


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands in a tree, as far as that decides whether it may be shown."""

    name: str = ""
    schema_of_secret: bool = False

    def below(self, name: str, value: object) -> Place | None:
        """The place of a value under a name; None when it must not be shown.

        A JSON schema that describes a field named `password` is no secret; the values in it are.
        """
        if self.schema_of_secret:
            return None if name in SCHEMA_VALUES else Place(name, schema_of_secret=True)
        if not is_secret_name(name) or value is None or value is True or value is False or value == "":
            return Place(name)
        if self.name == "properties" and isinstance(value, dict) and not SCHEMA_WORDS.isdisjoint(value):
            return Place(name, schema_of_secret=True)
        return None


def redact(value: Any) -> Any:
    """A copy of a JSON value in which secrets are blotted out, however deep it is."""
    result: list[Any] = [None]
    todo: list[tuple[Any, Place, Any, Any]] = [(value, Place(), result, 0)]
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
