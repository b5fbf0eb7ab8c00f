"""Remove escape sequences and control characters from text before it is shown in a terminal."""

from __future__ import annotations

import re

ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erase
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-OQ-WYZ`-~\\]"  # two-character and charset sequences
)
UNFINISHED = re.compile(
    r"(?:\x1b|(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*\x1b?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*\x1b?|\x1b[ -/]+)\Z"
)
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
MAX_HELD = 4096


class Cleaner:
    """Cleans a stream of deltas, across which an escape sequence may be split."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, delta: str) -> str:
        text = ESCAPES.sub("", self._held + delta)
        unfinished = UNFINISHED.search(text)
        self._held = ""
        if unfinished and len(unfinished[0]) <= MAX_HELD:
            self._held = unfinished[0]
            text = text[: unfinished.start()]
        return CONTROLS.sub("", text)


def clean(text: str) -> str:
    """Clean a whole text; drop an unfinished sequence at its end."""
    return Cleaner().feed(text)
