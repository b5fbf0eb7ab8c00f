"""Captions of videos in YouTube's XML, as lines of text."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

from boundary.parsers.errors import UnreadableContent

TAG = re.compile(r"<[^<>]*>")


def parse(body: bytes, arguments: Mapping[str, Any]) -> list[str]:
    """Return the captions in their order, without markup; raises UnreadableContent."""
    try:
        lines = fromstring(body)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise UnreadableContent(f"The captions are no readable XML ({type(error).__name__}).") from None
    return [TAG.sub("", html.unescape(line.text)) for line in lines if line.text is not None]
