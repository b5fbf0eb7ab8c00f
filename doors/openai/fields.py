"""Reading of single fields of a request body; what has the wrong type is refused by its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from doors.openai import limits
from doors.openai.errors import UnusableRequest

Body = Mapping[str, Any]
NOT_SUPPORTED = "unsupported_parameter"


def text(body: Body, name: str, *, most: int | None = None) -> str:
    """Return a text, empty if it is missing or null."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnusableRequest(f"`{name}` must be a string.", param=name)
    if most is not None and len(value) > most:
        raise UnusableRequest(
            f"`{name}` has {len(value):,} characters; at most {most:,} are allowed.", param=name
        )
    return value


def flag(body: Body, name: str, default: bool = False) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise UnusableRequest(f"`{name}` must be true or false.", param=name)
    return value


def number(body: Body, name: str, *, least: float, most: float) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise UnusableRequest(f"`{name}` must be a number from {least:g} to {most:g}.", param=name)
    return float(value)


def whole_number(body: Body, name: str, *, least: int, most: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UnusableRequest(f"`{name}` must be a whole number from {least:,} to {most:,}.", param=name)
    return value


def mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UnusableRequest(f"`{name}` must be an object.", param=name)
    return value


def items(value: object, name: str, *, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise UnusableRequest(f"`{name}` must be a list.", param=name)
    if len(value) > most:
        raise UnusableRequest(
            f"`{name}` has {len(value):,} entries; at most {most:,} are allowed.", param=name
        )
    return value


def metadata(body: Body) -> dict[str, str]:
    """Return the client's own notes: at most sixteen short texts."""
    value = body.get("metadata")
    if value is None:
        return {}
    pairs = mapping(value, "metadata")
    fits = len(pairs) <= limits.MAX_METADATA_PAIRS and all(
        isinstance(text, str)
        and len(name) <= limits.MAX_METADATA_KEY_CHARACTERS
        and (len(text) <= limits.MAX_METADATA_VALUE_CHARACTERS or name == "inputs")
        for name, text in pairs.items()
    )
    if not fits:
        raise UnusableRequest(
            f"`metadata` takes at most {limits.MAX_METADATA_PAIRS} texts of at most "
            f"{limits.MAX_METADATA_VALUE_CHARACTERS} characters.",
            param="metadata",
        )
    return dict(pairs)


def refuse_unhonoured(body: Body, neutral: Mapping[str, Collection[object]]) -> None:
    """Raise UnusableRequest for a field that would change the answer and is not honoured; neutral values pass."""
    for name, values in neutral.items():
        value = body.get(name)
        if value is None or any(value == other and type(value) is not bool for other in values):
            continue
        if any(value is other for other in values):
            continue
        raise UnusableRequest(
            f"`{name}` is not supported here, and leaving it out would change the answer.",
            param=name,
            code=NOT_SUPPORTED,
        )
