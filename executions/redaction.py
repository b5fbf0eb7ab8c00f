"""Redaction of inputs and outputs shown to people and models: secrets are hidden by name and by value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from durable.redaction import REDACTED, redact

SHORTEST_PIECE = 4  # a shorter secret is only hidden where it is the whole value
Secrets = frozenset[str]
NONE: Secrets = frozenset()


def shown_outputs(outputs: Mapping[str, Sequence[Any]], secrets: Secrets = NONE) -> dict[str, list[Any]]:
    """Return the values of each output in order, redacted."""
    return {name: [shown_value(name, value, secrets) for value in values] for name, values in outputs.items()}


def shown_pairs(pairs: Iterable[Sequence[Any]], secrets: Secrets = NONE) -> list[list[Any]]:
    """Return pairs of pin and value in order, redacted."""
    return [[pin, shown_value(pin, value, secrets)] for pin, value in pairs]


def shown_value(name: str, value: Any, secrets: Secrets = NONE) -> Any:
    """Return a value redacted, as its name and the secrets demand."""
    return hide(redact({name: value})[name], secrets)


def shown_inputs(inputs: Mapping[str, Any], secrets: Secrets = NONE) -> dict[str, Any]:
    return {name: shown_value(name, value, secrets) for name, value in inputs.items()}


def hide(value: Any, secrets: Secrets) -> Any:
    """Replace these secrets wherever they are in the value."""
    if not secrets:
        return value
    if isinstance(value, str):
        return hide_in_text(value, secrets)
    if isinstance(value, Mapping):
        return {hide_in_text(str(name), secrets): hide(item, secrets) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [hide(item, secrets) for item in value]
    return REDACTED if is_plain(value) and str(value) in secrets else value


def hide_in_text(text: str, secrets: Secrets) -> str:
    if text in secrets:
        return REDACTED
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_PIECE:
            text = text.replace(secret, REDACTED)
    return text


def words_in(value: Any) -> Iterable[str]:
    """Yield every text and number in a value: what to hide when the value is a secret."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from words_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from words_in(item)
    elif isinstance(value, str) and value:
        yield value
    elif is_plain(value):
        yield str(value)


def is_plain(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
