"""Fields that take a value as it is or refuse it: nothing is guessed, trimmed or dropped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from rest_framework import serializers


class Text(serializers.CharField):
    """A string as it came; a number is not a string."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """true or false; neither "yes" nor 1."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Form(serializers.Serializer[Any]):
    """A request's body; a field that nobody knows is an error with its name."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = [str(name) for name in data if name not in self.fields]
            if unknown:
                raise serializers.ValidationError({name[:100]: ["Unknown field."] for name in unknown[:20]})
        return super().to_internal_value(data)


def read(form: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """What a form makes of a body; raises ValidationError."""
    values: dict[str, Any] = made_once(form).run_validation(data)
    return values


def show(shape: type[serializers.Serializer[Any]], thing: object) -> dict[str, Any]:
    """One thing as the API shows it."""
    return dict(made_once(shape).to_representation(thing))


@cache
def made_once(shape: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """For calls that keep nothing in it: making its fields takes longer than using them."""
    return shape()
