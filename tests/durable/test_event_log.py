"""Places, entries and what stands of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from durable.event_log import START, LoggedEvent, Position, encode, one_line, pack, standing, unpack

POSITIONS = st.builds(Position, st.integers(0, 10**9 - 1), st.integers(0, 10**12 - 1))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
WILD_TEXT = st.text(st.characters(codec=None), max_size=20)  # with halves of surrogate pairs


@given(POSITIONS)
def test_a_position_survives_its_text(position: Position) -> None:
    assert Position.parse(str(position)) == position


@given(POSITIONS, POSITIONS)
def test_positions_sort_by_attempt_first(one: Position, two: Position) -> None:
    assert (one < two) == ((one.attempt, one.seq) < (two.attempt, two.seq))


@pytest.mark.parametrize(
    "text",
    ["", "-", "1", "1-", "-1", "1-2-3", "a-b", "1 -2", "+1-2", "-1-2", "1.0-2", "\u0661-1", "1-\u00b2", "\n1-1",
     "1" * 10 + "-1", "1-" + "1" * 13, "$", ">", "0x1-1", "1_0-1"],
)  # fmt: skip
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="position"):
        Position.parse(text)


@given(st.text())
def test_any_text_is_a_position_or_refused(text: str) -> None:
    try:
        position = Position.parse(text)
    except ValueError:
        return
    assert Position.parse(str(position)) == position


@given(st.lists(st.tuples(POSITIONS, POSITIONS, JSON), max_size=8))
def test_a_page_gives_back_what_was_packed(rows: list[tuple[Position, Position, object]]) -> None:
    entries = [LoggedEvent(at, after, encode(body)) for at, after, body in rows]
    assert unpack(pack(entries)) == entries


@given(WILD_TEXT)
def test_any_text_can_be_carried_on_one_line(text: str) -> None:
    body = one_line(json.dumps({"text": text}, ensure_ascii=False, indent=1))
    assert "\n" not in body
    carried = body.encode().decode()
    assert json.loads(carried) == {"text": text}
    assert json.loads(unpack(pack([LoggedEvent(START, START, body)]))[0].body) == {"text": text}


@given(WILD_TEXT)
def test_plain_text_is_carried_as_it_is(text: str) -> None:
    body = encode({"text": text})
    if text.isprintable() and not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert one_line(body) is body


# --- standing -----------------------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[LoggedEvent], list[LoggedEvent]]:
    """A log as attempts write it, and what of it stands: kept beside it in the plainest way."""
    log: list[LoggedEvent] = []
    shown: list[LoggedEvent] = []
    sealed: list[LoggedEvent] = []
    for attempt in range(1, draw(st.integers(1, 4)) + 1):
        lasting = list(sealed)
        for seq in range(1, draw(st.integers(0, 8)) + 1):
            kind = draw(st.sampled_from(["event", "event", "hint", "reset", "seal"]))
            if kind == "reset":
                lasting = list(sealed)
            after = lasting[-1].at if lasting else START
            entry = LoggedEvent(Position(attempt, seq), after, f'"{attempt}-{seq}"')
            log.append(entry)
            shown = [*lasting, entry]
            if kind != "hint":
                lasting = shown
            if kind == "seal":
                sealed = lasting
    return log, shown


@given(histories())
def test_what_stands_is_what_was_never_voided(history: tuple[list[LoggedEvent], list[LoggedEvent]]) -> None:
    log, shown = history
    assert standing(log) == shown


@given(histories(), st.data())
def test_standing_can_be_taken_piece_by_piece(
    history: tuple[list[LoggedEvent], list[LoggedEvent]], data: st.DataObject
) -> None:
    log, _ = history
    cut = data.draw(st.integers(0, len(log)))
    assert standing([*standing(log[:cut]), *log[cut:]]) == standing(log)


@given(histories())
def test_standing_changes_nothing_the_second_time(
    history: tuple[list[LoggedEvent], list[LoggedEvent]],
) -> None:
    kept = standing(history[0])
    assert standing(kept) == kept
    assert [entry.at for entry in kept] == sorted(entry.at for entry in kept)
