"""Output processing: small values stand, large ones are cut and kept, secrets never show."""

from __future__ import annotations

import base64
import json
import tracemalloc
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from durable.redaction import REDACTED, redact
from workspace import limits
from workspace.data_uris import HEADER
from workspace.json_encoding import json_pieces
from workspace.preview import FileNotStored, KeepsNothing, show

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 40).decode()


@dataclass
class Shelf:
    """A keeper that remembers sizes and small contents; the real workspace is tested in test_output."""

    files: list[tuple[str, str, int]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    uris: int = 0

    def keep(self, content: BinaryIO, *, name: str, media_type: str) -> str:
        head = content.read(1_000_000).decode()
        size = len(head.encode())
        while piece := content.read(65536):
            size += len(piece)
        self.texts.append(head)
        self.files.append((name, media_type, size))
        return f"workspace://{len(self.files)}"

    def keep_data_uris(self, text: str) -> str:
        self.uris += 1
        found = HEADER.search(text)
        assert found is not None
        return text[: found.start()] + f"workspace://uri{self.uris}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=50),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("abcdef", max_size=8), inner, max_size=5),
    max_leaves=30,
)  # fmt: skip


@given(json_values)
def test_a_small_value_is_untouched(value: Any) -> None:
    shelf = Shelf()
    assert show(value, shelf, name="r") == value
    assert shelf.files == []


@given(json_values)
def test_the_written_text_is_the_same_value(value: Any) -> None:
    assert json.loads("".join(json_pieces(value))) == value


def test_a_long_text_is_cut_with_a_note_of_how_much_is_missing_and_where_the_whole_is() -> None:
    shelf = Shelf()
    shown = show({"page": "x" * 10_001, "other": "kept"}, shelf, name="r")
    assert shown["other"] == "kept"
    assert shown["page"] == "x" * 10_000 + "[… 1 more characters; the whole result is in workspace://1]"
    assert json.loads(shelf.texts[0]) == {"page": "x" * 10_001, "other": "kept"}
    assert shelf.files == [("r.json", "application/json", len(shelf.texts[0]))]


def test_a_text_of_exactly_the_limit_stays() -> None:
    assert show("x" * 10_000, Shelf(), name="r") == "x" * 10_000


@pytest.mark.parametrize("count", [1_000, 100_000])
def test_a_long_list_is_previewed(count: int) -> None:
    shelf = Shelf()
    shown = show({"rows": list(range(count))}, shelf, name="r")
    assert shown == {
        "rows": {
            "preview": f"{count} items, first 5; the whole result is in workspace://1.",
            "first": [0, 1, 2, 3, 4],
        }
    }
    assert json.loads(shelf.texts[0])["rows"] == list(range(count))


def test_too_many_small_things_show_only_the_start_and_how_to_read_on() -> None:
    shelf = Shelf()
    value = {f"key {number}": number for number in range(50_000)}
    shown = show(value, shelf, name="r")
    assert shown["preview"].startswith('{"key 0": 0, "key 1": 1')
    assert shown["whole"] == "workspace://1" and "read_workspace_file" in shown["how_to_read"]
    assert len(json.dumps(shown)) < limits.MAX_OUTPUT_CHARACTERS
    assert shelf.files[0][2] == len(json.dumps(value))


def test_what_cannot_be_kept_is_said_to_be_gone() -> None:
    shown = show({"page": "x" * 20_000}, KeepsNothing(), name="r")
    assert shown["page"].endswith(
        "[… 10,000 more characters; the rest was not saved: there is no account to save it for]"
    )


def test_a_data_uri_becomes_a_reference_wherever_it_stands() -> None:
    shelf = Shelf()
    uri = f"data:image/png;base64,{PIXEL}"
    shown = show({"a": [uri], "b": {"c": f"see {uri}"}}, shelf, name="r")
    assert shown == {"a": ["workspace://uri1"], "b": {"c": "see workspace://uri2"}}
    assert shelf.files == []


def test_a_data_uri_without_an_account_is_named_and_not_shown() -> None:
    shown = show(f"data:image/png;charset=x;base64,{PIXEL}", KeepsNothing(), name="r")
    assert shown.startswith("[image/png, ") and PIXEL not in shown


def test_text_that_only_talks_about_data_uris_stays() -> None:
    text = "Use data:image/png and ;base64, in one string."
    assert show(text, Shelf(), name="r") == text


def test_a_flood_of_data_uris_is_bounded() -> None:
    shelf = Shelf()
    show([f"data:image/png;base64,{PIXEL}{number}" for number in range(1000)], shelf, name="r")
    assert shelf.uris == limits.MAX_KEPT_DATA_URIS


def deep(levels: int, kind: str) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value] if kind == "list" else {"in": value}
    return value


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_ten_thousand_levels_are_kept_whole_and_shown_to_a_depth(kind: str) -> None:
    shelf = Shelf()
    shown = show(deep(10_000, kind), shelf, name="r")
    assert "deeper than 50 levels" in json.dumps(shown)
    assert shelf.texts[0].count("[" if kind == "list" else "{") == 10_000


def test_a_value_that_contains_itself_ends() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = [loop]
    assert show(loop, Shelf(), name="r") == {"self": ["[the same as above]"]}
    assert json.loads("".join(json_pieces(loop))) == {"self": ["[the same as above]"]}


class Model(BaseModel):
    when: datetime = datetime(2026, 1, 2, tzinfo=UTC)
    cost: Decimal = Decimal("1.50")


def test_python_values_become_json() -> None:
    value = {
        "model": Model(),
        "id": uuid.UUID(int=1),
        "bytes": b"abc",
        "tuple": (1, 2),
        "nan": float("nan"),
        "huge": 10**5000,
        1: object(),
        "text": "a\0b\ud800",
    }
    shown = show(value, Shelf(), name="r")
    assert shown == {
        "model": {"when": "2026-01-02T00:00:00+00:00", "cost": "1.50"},
        "id": "00000000-0000-0000-0000-000000000001",
        "bytes": "[3 bytes]",
        "tuple": [1, 2],
        "nan": None,
        "huge": "[a number too large to show]",
        "1": "[object]",
        "text": "a\ufffdb\ufffd",
    }
    assert json.loads("".join(json_pieces(value))) == shown


NAMES = [
    "api_key",
    "apikey",
    "api_secret",
    "password",
    "secret",
    "credential",
    "credentials",
    "token",
    "access_token",
    "refresh_token",
    "private_key",
    "auth",
    "authorization",
    "API_KEY",
    "ApiKey",
    "api-key",
    "X-API-Key",
    "Authorization",
    "PASSWORD",
    "accessToken",
]


@pytest.mark.parametrize("name", NAMES)
def test_secrets_are_blotted_out_everywhere(name: str) -> None:
    value = {"a": [{name: "hunter2", "b": {name: {"deep": "hunter2"}}}], "page": "x" * 20_000}
    shelf = Shelf()
    assert "hunter2" not in json.dumps(show(value, shelf, name="r"))
    assert "hunter2" not in shelf.texts[0] and REDACTED in shelf.texts[0]
    assert "hunter2" not in json.dumps(redact(value))


def test_names_that_only_sound_secret_are_shown() -> None:
    value = {"tokens": 12, "author": "Ada", "secretary": "Bo", "password": None, "token": "", "auth": False}
    assert show(value, Shelf(), name="r") == value
    assert redact(value) == value


def test_a_schema_that_describes_a_secret_is_shown_without_its_values() -> None:
    schema = {"properties": {"password": {"type": "string", "default": "hunter2", "title": "Password"}}}
    expected = {"properties": {"password": {"type": "string", "default": REDACTED, "title": "Password"}}}
    assert show(schema, Shelf(), name="r") == expected
    assert redact(schema) == expected
    assert redact({"properties": {"password": "hunter2"}}) == {"properties": {"password": REDACTED}}


def test_redaction_works_on_ten_thousand_levels_and_changes_nothing_in_place() -> None:
    value = deep(10_000, "dict")
    copy = redact(value)
    for _ in range(10_000):
        copy = copy["in"]
    assert copy == "bottom"


def test_a_huge_text_costs_little_memory_beyond_itself() -> None:
    value = {"page": "é" * 30_000_000}
    shelf = Shelf()
    tracemalloc.start()
    show(value, shelf, name="r")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shelf.files[0][2] > 60_000_000
    assert peak < 20_000_000


def test_many_items_cost_little_memory_beyond_themselves() -> None:
    value = {"rows": [{"number": number, "name": f"row {number}"} for number in range(20_000)]}
    shelf = Shelf()
    tracemalloc.start()
    shown = show(value, shelf, name="r")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(json.dumps(shown)) < 1000
    assert peak < 5_000_000


def test_a_value_larger_than_may_be_kept_is_refused_and_the_start_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MAX_KEPT_OUTPUT_BYTES", 100_000)
    shelf = Shelf()
    shown = show({"page": "x" * 200_000}, shelf, name="r")
    assert "was not saved: it is larger than" in shown["page"] and shelf.files == []


def test_a_keeper_that_is_full_does_not_lose_the_preview() -> None:
    class Full(KeepsNothing):
        def keep(self, content: BinaryIO, *, name: str, media_type: str) -> str:
            raise FileNotStored("the workspace is full")

    assert "the workspace is full" in show(list(range(500)), Full(), name="r")["preview"]
