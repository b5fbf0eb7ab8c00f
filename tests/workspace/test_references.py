"""`workspace://` references: found anywhere, good for their owner only."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import AbstractBaseUser
from hypothesis import given
from hypothesis import strategies as st

from workspace import files, limits
from workspace.nested_values import map_strings, strings_in
from workspace.references import parse_references, resolve

FIRST, SECOND = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"see workspace://{FIRST}, then WORKSPACE://{str(SECOND).upper()}.", [FIRST, SECOND]),
        (f"![x](workspace://{FIRST}) workspace://{FIRST}", [FIRST]),
        (
            {"a": [f"workspace://{SECOND}", {"b": (f"workspace://{FIRST}",)}], "c": 1, "d": None},
            [SECOND, FIRST],
        ),
        ("workspace://nonsense workspace:// workspace://../etc", []),
        (f"workspace://{FIRST}0", []),
        ({f"workspace://{FIRST}": 1}, []),
        (7, []),
    ],
)
def test_references_are_found_in_reading_order(value: Any, expected: list[uuid.UUID]) -> None:
    assert parse_references(value) == expected


def test_no_more_than_the_cap_are_read() -> None:
    text = " ".join(f"workspace://{uuid.uuid4()}" for _ in range(limits.MAX_REFERENCES + 50))
    assert len(parse_references(text)) == limits.MAX_REFERENCES


def test_case_21_anothers_file_resolves_to_nothing(ada: AbstractBaseUser, bob: AbstractBaseUser) -> None:
    mine, theirs = files.save(ada, "a", b"1"), files.save(bob, "b", b"2")
    value = {"text": f"{theirs.reference} {mine.reference} workspace://{uuid.uuid4()}"}
    assert resolve(ada, value) == [mine]
    assert resolve(bob, value) == [theirs]
    assert resolve(ada, "nothing") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_mapping_strings_changes_nothing_else(value: Any) -> None:
    assert map_strings(value, lambda text: text) == value
    assert list(strings_in(map_strings(value, str.upper))) == [text.upper() for text in strings_in(value)]


def test_ten_thousand_levels_are_no_danger() -> None:
    value: Any = "x"
    for _ in range(10_000):
        value = {"a": [value]}
    assert list(strings_in(value)) == ["x"]
    assert list(strings_in(map_strings(value, str.upper))) == ["X"]
