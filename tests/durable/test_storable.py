"""The gate for what comes from outside."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from durable import limits, storable

ANY_TEXT = st.text(st.characters(codec=None), max_size=40)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(max_size=5)
ANY_VALUE = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(ANY_TEXT | st.integers(), inner),
)
TOWER: Any = []
for _ in range(10_000):
    TOWER = [TOWER]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("plain", "plain"),
        ("a\x00b", "a\ufffdb"),
        ("ü\x00\ud800", "ü\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("x\ud83d", "x\ufffd"),
    ],
)
def test_text(given: str, kept: str) -> None:
    assert storable.text(given) == kept


def test_text_is_cut_to_a_length() -> None:
    assert storable.text("abc\ud83d\ude00", most=4) == "abc\ufffd"


@given(ANY_TEXT)
def test_any_text_is_made_storable(text: str) -> None:
    kept = storable.text(text)
    kept.encode()
    assert "\x00" not in kept
    assert storable.is_text(kept)
    assert not storable.is_text(text) or kept == text


@given(ANY_VALUE)
def test_any_value_is_made_storable(value: Any) -> None:
    kept = storable.nearest_json(value)
    text = json.dumps(kept, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert "\\u0000" not in text.replace("\\\\", "")
    assert storable.json_value(kept) is kept


@pytest.mark.parametrize(
    "value",
    [math.inf, [math.nan], {"a": {1: 2}}, object(), (1, 2), b"x", 1 << 5_000, TOWER, {"k" * 1_000_000: 1}],
    ids=["infinity", "nan", "key", "object", "tuple", "bytes", "integer", "tower", "long key"],
)
def test_what_has_no_json_form_is_refused_or_described(value: Any) -> None:
    with pytest.raises(storable.NotStorable):
        storable.json_value(value)
    json.dumps(storable.nearest_json(value), allow_nan=False)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("a\x00b", r"a NUL character \(\\u0000\) in a string"),
        ({"a": ["\ud83d"]}, r"half of a surrogate pair \(\\ud83d\)"),
        ({"a\x00": 1}, "NUL"),
        ([[[]]], "more than 2 levels"),
        (math.inf, "infinity"),
    ],
)
def test_what_would_need_repair_is_refused_by_check(value: Any, says: str) -> None:
    with pytest.raises(storable.NotStorable, match=says):
        storable.check(value, max_depth=2)


def test_what_a_database_takes_as_it_is_passes_check() -> None:
    storable.check({"a": ["é😀", 1, None, 2.5, True]}, max_depth=2)


@given(ANY_TEXT)
def test_a_text_has_a_flaw_where_it_cannot_be_stored(text: str) -> None:
    assert (storable.flaw_in(text) is None) == storable.is_text(text)


@pytest.mark.parametrize("value", [1, "abc", {"a": [1.5, None, True]}, -(1 << 64)])
def test_what_is_fit_is_not_copied(value: Any) -> None:
    assert storable.json_value(value) is value


@pytest.mark.parametrize(("reported", "kept"), [(0, 0), (12, 12), (12.0, 12), ("12", 12), ("1e3", 1000)])
def test_a_count(reported: object, kept: int) -> None:
    assert storable.count(reported, most=1000) == kept


@pytest.mark.parametrize(
    "reported",
    [
        -5,
        1001,
        1e30,
        10**400,
        "abc",
        "9" * 5_000,
        "",
        "\x00",
        1.5,
        math.nan,
        math.inf,
        True,
        None,
        [],
        {},
        "nan",
    ],
    ids=lambda value: str(value)[:10] if not isinstance(value, int) else "int",
)
def test_a_count_that_cannot_be_true(reported: object) -> None:
    assert storable.count(reported, most=1000) is None


def test_an_amount() -> None:
    assert storable.amount(0.5, most=Decimal(1)) == Decimal("0.5")
    assert storable.amount("0.5", most=Decimal(1)) == Decimal("0.5")
    for odd in (-1, 2, math.nan, math.inf, 10**400, "x", True, None):
        assert storable.amount(odd, most=Decimal(1)) is None


def test_numbers_of_any_length_are_read() -> None:
    assert storable.loads("[" + "9" * 5_000 + ", 1]") == [math.inf, 1]
    assert storable.loads(b'{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("document", ["[" * 100_000, "{", "\x00", b"\xff\xfe\xff"])
def test_what_is_no_json_raises_one_kind_of_error(document: str | bytes) -> None:
    with pytest.raises(ValueError):
        storable.loads(document)


def test_the_depth_that_is_kept_can_be_walked_by_everybody() -> None:
    value: Any = 1
    for _ in range(limits.MAX_VALUE_DEPTH):
        value = [value]
    assert storable.json_value(value) is value
