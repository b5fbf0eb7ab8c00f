"""Markdown that loads nothing from other sites when it is opened: images become links, HTML becomes text.

The URL of an image can carry the conversation's content to the author of a page that the model read. Code is left
unchanged only where it certainly is code: between fences at the beginning of lines, as long as every fence of the
document so far was one of those.
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
    """Converts the pieces of one document in order: whether a piece is code depends on those before it."""

    def __init__(self) -> None:
        self._fence = ""  # that opened the current block of code
        self._certain = True  # no fence so far that another Markdown parser might read differently

    def add(self, text: str) -> str:
        """Return the next piece converted; close a block of code that it leaves open."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        pieces = [
            "\n".join(piece) if is_code else disarm("\n".join(piece)) for is_code, piece in self._parts(lines)
        ]
        if self._fence:
            pieces.append(self._fence)
            self._fence = ""
        return "\n".join(pieces)

    def _parts(self, lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
        """Yield groups of lines, and whether they are code."""
        part: list[str] = []
        was_code = False
        for line in lines:
            is_code = self._is_code(line)
            if part and is_code != was_code:
                yield was_code, part
                part = []
            part.append(line)
            was_code = is_code
        yield was_code, part

    def _is_code(self, line: str) -> bool:
        """Follow the fences; return whether the line is code or a fence."""
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
    """Return a line's fence, also inside quotes and lists, and what follows it; an empty string if it has none."""
    bare = line.lstrip(MARKS)
    rest = bare.lstrip(bare[:1]) if bare.startswith(("`", "~")) else bare
    sign = bare[: len(bare) - len(rest)]
    return (sign, rest) if len(sign) >= SHORTEST_FENCE else ("", line)


def disarm(text: str) -> str:
    """Turn images into links, and link definitions and HTML elements into text."""
    text = "".join(escape_definitions(unlink_images(block)) for block in BLANK.split(text))
    return ELEMENT.sub("&lt;", ELEMENT_LINE.sub(r"\1&lt;", text))


def unlink_images(block: str) -> str:
    """Turn images into links; only what precedes the last `](` of a block can be one."""
    end = block.rfind("](")
    return PICTURE.sub("", block[: end + 1]) + block[end + 1 :] if end >= 0 else block


def escape_definitions(block: str) -> str:
    """Escape link definitions; only a line that starts before the last `]:` of a block can be one."""
    end = block.rfind("]:")
    return DEFINITION.sub(lambda found: found[0] + "\\", block[:end]) + block[end:] if end >= 0 else block
