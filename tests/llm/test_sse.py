"""Event streams in whatever pieces the network delivers them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from llm.transport import EventSplitter

STREAM = (
    b': hello\r\n\r\ndata: {"a": 1}\n\nevent: x\r\nid: 7\r\ndata: two\r\ndata: lines\r\n\r\ndata:[DONE]\n\n'
)
EVENTS = [b'{"a": 1}', b"two\nlines", b"[DONE]"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    splitter = EventSplitter()
    places = [0, *sorted(cuts), len(STREAM)]
    found = [event for a, b in pairwise(places) for event in splitter.feed(STREAM[a:b])]
    assert found + splitter.close() == EVENTS
    assert splitter.strange == b""


def test_the_last_event_may_lack_its_empty_line() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"data: one\n\ndata: two") == [b"one"]
    assert splitter.close() == [b"two"]


def test_lines_that_belong_to_no_event_stream_are_remembered() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"<html>\n<body>\n") == []
    assert splitter.strange == b"<html>"


def test_a_huge_event_in_small_pieces_costs_one_copy() -> None:
    splitter = EventSplitter()
    for _ in range(20_000):
        assert splitter.feed(b"x" * 100) == []
    assert len(splitter._pieces) == 20_000
    assert splitter.feed(b"\n\n") == []
    assert splitter.strange.startswith(b"x")
