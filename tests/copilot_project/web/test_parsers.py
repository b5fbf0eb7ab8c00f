"""JSON that no database or client could carry on is refused before a view sees it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from copilot_project.web.parsers import BadJson, loads

pytestmark = pytest.mark.urls("tests.copilot_project.web.urls")

DEEP = 100


def post(body: bytes) -> Any:
    return APIClient().generic("POST", "/api/echo", body, "application/json")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "line 1"),
        (b"{'a': 1}", "column 2"),
        (b'{"a": 1} x', "Extra data"),
        (b'"\xff"', "UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        ('{"a": 1}'.encode("utf-16"), "UTF-8"),
        (b'{"a": "\\u0000"}', "NUL"),
        (b'{"a\\u0000": 1}', "NUL"),
        (b'["x", {"deep": ["\\u0000"]}]', "NUL"),
        (b'"\\ud800"', "surrogate"),
        (b'"\\udc00\\ud800"', "surrogate"),
        (b'{"\\ud800": 1}', "surrogate"),
        (b'{"\\ud800": 1, "\\ud800": 2}', "twice"),
        (b'"\x00"', "control character"),
        (b"NaN", "NaN"),
        (b"[Infinity]", "Infinity"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b"1e999", "too large"),
        (b"18446744073709551616", "64 bits"),
        (b"-9223372036854775809", "64 bits"),
        (b"9" * 10_000, "64 bits"),
        (b'{"a": 1, "a": 2}', '"a" twice'),
        (b'[{"b": {"a": 1, "c": 0, "a": 1}}]', '"a" twice'),
        (b"[" * (DEEP + 1) + b"]" * (DEEP + 1), "100 levels"),
        (b'{"a":' * (DEEP + 1) + b"1" + b"}" * (DEEP + 1), "100 levels"),
        (b"[" * 200_000, "100 levels"),
        (b"[" * 200_000 + b"]" * 200_000, "100 levels"),
    ],
)
def test_bad_json_answers_400_and_says_what_is_wrong(body: bytes, says: str) -> None:
    answer = post(body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "bad_json"
    assert says in error["message"]


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, -0.0, True, None, ""]},
        "\U0001f600 é \u202e \x7f",
        18446744073709551615,
        -9223372036854775808,
        1e308,
        [[]] * 500,
        {"[[[[": "{{{{"},
        "\\u0000",
    ],
)
def test_good_json_arrives_as_it_was_sent(value: object) -> None:
    for ascii_only in (True, False):
        answer = post(json.dumps(value, ensure_ascii=ascii_only).encode())
        assert answer.status_code == 200
        assert json.loads(answer.content) == {"data": value}


def test_nesting_up_to_the_limit_is_fine() -> None:
    assert post(b"[" * DEEP + b"]" * DEEP).status_code == 200


def test_an_empty_body_is_no_data() -> None:
    assert post(b"").json() == {"data": {}}


@given(
    st.binary(max_size=60)
    | st.text(alphabet='[]{}",:0123456789.eE-+\\unltrfas ', max_size=60).map(str.encode)
)
def test_any_bytes_parse_as_the_standard_library_does_or_raise_bad_json(body: bytes) -> None:
    try:
        value = loads(body)
    except BadJson:
        return
    assert value == json.loads(body)
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    assert "\x00" not in text
    text.encode()
