"""Feeds that cannot be read are refused with a reason instead of crashing the parser."""

from __future__ import annotations

import pytest

from boundary.errors import UnreadableContent
from boundary.parser_process import parse_isolated

FEED = b"<rss version='2.0'><channel><item><title>news</title></item></channel></rss>"


def test_an_encoding_whose_name_is_no_text_is_refused() -> None:
    with pytest.raises(UnreadableContent, match="cannot be read"):
        parse_isolated("boundary.parsers.feeds", b"<?xml encoding='\xb6'?>" + FEED)


def test_an_encoding_that_does_not_exist_is_ignored() -> None:
    entries = parse_isolated("boundary.parsers.feeds", b"<?xml version='1.0' encoding='nonsense'?>" + FEED)
    assert [entry["title"] for entry in entries] == ["news"]
