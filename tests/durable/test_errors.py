"""Refusals say what was refused and what to do, whichever way the request came."""

from __future__ import annotations

import pytest

from durable.errors import InvalidFields, NotFound, Refusal


class Full(Refusal):
    """The shelf
    is full."""

    hint = "Take a book down."


def test_the_message_defaults_to_the_docstring_of_the_class() -> None:
    assert str(Full()) == Full().message == "The shelf is full."
    assert Full("All shelves are full.").message == "All shelves are full."


def test_the_advice_is_the_message_with_the_hint() -> None:
    assert Full().advice == "The shelf is full. Take a book down."
    assert NotFound().advice == "There is nothing here, or it is not yours."


def test_invalid_fields_keep_what_is_wrong_with_each_field() -> None:
    refusal = InvalidFields({"a": ["Too long."], "b.c": ("Unknown.", "Too short.")})
    assert refusal.fields == {"a": ["Too long."], "b.c": ["Unknown.", "Too short."]}
    assert str(refusal) == "Too long. Unknown. Too short."


def test_a_class_of_its_own_is_caught_as_a_refusal() -> None:
    with pytest.raises(Refusal) as caught:
        raise Full
    assert (caught.value.status, caught.value.code, caught.value.retry_after) == (400, "refused", None)
