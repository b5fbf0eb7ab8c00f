"""Markdown that loads nothing from elsewhere when somebody opens it: pictures become links, HTML becomes text.

The address of a picture can carry away what the conversation says, to whoever wrote the page that the model read.
Code keeps its signs where it certainly is code: between fences at the beginning of lines, as long as every fence of
the document has been one of those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MARKS = " \t>*+-0123456789.)"  # of quotes and lists
BEFORE = r"^[ \t>*+\-0-9.)]*"
BLANK = re.compile(r"(\n[ \t]*\n)")
PICTURE = re.compile(r"!+(?=\[)")
DEFINITION = re.compile(BEFORE + r"(?=\[)", re.MULTILINE)
ELEMENT_LINE = re.compile(r"(" + BEFORE + r")<(?=[A-Za-z/!?])(?!https?://|mailto:)", re.MULTILINE)
ELEMENT = re.compile(r"<(?=(?:style|script)\b|[A-Za-z][A-Za-z0-9-]*\s[\sA-Za-z_:])", re.IGNORECASE)
SHORTEST_FENCE = 3


class PassiveMarkdown:
    """The pieces of one document in their order: whether a piece is code depends on those before it."""

    def __init__(self) -> None:
        self._fence = ""  # the sign that opened the code we are in
        self._certain = True  # no fence so far that a reader might see otherwise

    def add(self, text: str) -> str:
        """Return the next piece, made harmless; code it leaves open is closed."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        pieces = [
            "\n".join(piece) if is_code else disarm("\n".join(piece)) for is_code, piece in self._parts(lines)
        ]
        if self._fence:
            pieces.append(self._fence)
            self._fence = ""
        return "\n".join(pieces)

    def _parts(self, lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
        """Lines that belong together, and whether they are code."""
        part: list[str] = []
        was_code = False
        for line in lines:
            is_code = self._take_in(line)
            if part and is_code != was_code:
                yield was_code, part
                part = []
            part.append(line)
            was_code = is_code
        yield was_code, part

    def _take_in(self, line: str) -> bool:
        """Follow the fences; True for a line of code, which includes those of the fence."""
        sign, rest = fence_in(line)
        if self._fence:
            is_end = sign.startswith(self._fence) and not rest.strip()
            if is_end and line.startswith(sign):
                self._fence = ""
            elif is_end:
                self._certain = False
            return self._certain
        if sign and not line.startswith(sign):
            self._certain = False
        elif sign and (sign[0] == "~" or "`" not in rest):
            self._fence = sign if self._certain else ""
        return bool(self._fence)


def fence_in(line: str) -> tuple[str, str]:
    """The sign of a fence, wherever in quotes and lists it stands, and what follows it; empty when there is none."""
    bare = line.lstrip(MARKS)
    rest = bare.lstrip(bare[:1]) if bare.startswith(("`", "~")) else bare
    sign = bare[: len(bare) - len(rest)]
    return (sign, rest) if len(sign) >= SHORTEST_FENCE else ("", line)


def disarm(text: str) -> str:
    """Pictures are links, link definitions and elements are text."""
    text = "".join(words_only(links_only(block)) for block in BLANK.split(text))
    return ELEMENT.sub("&lt;", ELEMENT_LINE.sub(r"\1&lt;", text))


def links_only(block: str) -> str:
    """Only what stands before the last `](` of a block can be a picture."""
    end = block.rfind("](")
    return PICTURE.sub("", block[: end + 1]) + block[end + 1 :] if end >= 0 else block


def words_only(block: str) -> str:
    """Only what begins a line before the last `]:` of a block can name an address for pictures elsewhere."""
    end = block.rfind("]:")
    return DEFINITION.sub(lambda found: found[0] + "\\", block[:end]) + block[end:] if end >= 0 else block
