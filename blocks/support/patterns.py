"""Regular expressions with limits on time and size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from blocks import limits
from blocks.errors import BlockFailed

if TYPE_CHECKING:
    import regex

# An unclosed set is one token up to the end, and numbers match in one way only, so that tokenizing takes linear time.
TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+(?:\]|\\?\Z)|\(|\)|\{(?P<low>[0-9]*+)(?:,(?P<high>[0-9]*+))?\}|.",
    re.DOTALL,
)


def compile_pattern(pattern: str, *, case_sensitive: bool, dot_all: bool) -> regex.Pattern[str]:
    """Compile the pattern; raise BlockFailed if it is invalid or too long."""
    if len(pattern) > limits.MAX_REGEX_CHARACTERS:
        raise BlockFailed(f"The pattern is longer than {limits.MAX_REGEX_CHARACTERS} characters.")
    if expanded_size(pattern) > limits.MAX_REGEX_EXPANSION:
        raise BlockFailed("The pattern repeats too much. Use smaller numbers in {…}.")
    import regex  # slow to import

    flags = (0 if case_sensitive else regex.IGNORECASE) | (regex.DOTALL if dot_all else 0)
    try:
        return regex.compile(pattern, flags)
    except (regex.error, ValueError, OverflowError, RecursionError, IndexError) as error:
        raise BlockFailed(f"The pattern is not a regular expression: {error}.") from None


def find_first(pattern: regex.Pattern[str], text: str) -> regex.Match[str] | None:
    """Return the first match or None; raise BlockFailed if the search takes too long."""
    try:
        return pattern.search(text[: limits.MAX_REGEX_TEXT_CHARACTERS], timeout=limits.REGEX_SECONDS)
    except TimeoutError:
        raise _too_slow() from None


def find_each(pattern: regex.Pattern[str], text: str) -> Iterator[regex.Match[str]]:
    """Yield the matches in order, up to the limit; raise BlockFailed if the search takes too long."""
    matches = pattern.finditer(text[: limits.MAX_REGEX_TEXT_CHARACTERS], timeout=limits.REGEX_SECONDS)
    try:
        for count, match in enumerate(matches, start=1):
            yield match
            if count == limits.MAX_REGEX_MATCHES:
                return
    except TimeoutError:
        raise _too_slow() from None


def expanded_size(pattern: str) -> int:
    """Return the size of the pattern with counted repeats expanded, as the compiler does."""
    open_groups = [0]  # sizes of the open groups
    last = 0  # size of what a following count would repeat
    for token in TOKEN.finditer(pattern):
        if token[0] == "(":
            open_groups.append(0)
            last = 0
        elif token[0] == ")" and len(open_groups) > 1:
            last = open_groups.pop() + 1
            open_groups[-1] += last
        elif token["low"] or token["high"]:
            times = max(int((token["low"] or "0")[:6]), int((token["high"] or "0")[:6]), 1)
            open_groups[-1] += last * (times - 1)
            last *= times
        else:
            last = 1
            open_groups[-1] += 1
    return sum(open_groups)


def _too_slow() -> BlockFailed:
    return BlockFailed(f"The pattern took longer than {limits.REGEX_SECONDS:g} seconds. Make it simpler.")
