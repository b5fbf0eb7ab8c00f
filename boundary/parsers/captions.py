"""Parse captions in YouTube's XML into lines of text."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

from boundary.errors import UnreadableContent

TAG = re.compile(r"<[^<>]*>")


def parse(body: bytes, arguments: Mapping[str, Any]) -> list[str]:
    """Return the captions in order, without markup; raise UnreadableContent."""
    try:
        lines = fromstring(body)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise UnreadableContent(f"The captions are not valid XML ({type(error).__name__}).") from None
    return [TAG.sub("", html.unescape(line.text)) for line in lines if line.text is not None]
