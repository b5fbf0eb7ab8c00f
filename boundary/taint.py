"""Outside content: its sources, and the site's policy for effects after it was read."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from django.conf import settings

LOOK_AHEAD = 40  # characters to check after an address for a continuation
MAX_SOURCES = 20
MAX_SOURCE_CHARACTERS = 100
SHOWN_SOURCES = 3
UNFIT = re.compile(r"[^\w .:/@()\[\]-]+")  # sources are shown to people and models: no markup, no line breaks
URL_CHARACTERS = r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]"
DENIED = "This site does not allow that after outside content was read."

Sources = tuple[str, ...]


class TaintPolicy(enum.StrEnum):
    """What to do with an effect that leaves the site when outside content may have asked for it."""

    ASK = "ask"  # a person approves it first
    ALLOW = "allow"  # it happens
    DENY = "deny"  # it is refused


def current_policy() -> TaintPolicy:
    return TaintPolicy(settings.TAINTED_EFFECTS)


def merge(*groups: Iterable[str]) -> Sources:
    """Merge sources without duplicates, cleaned for display; the earliest are kept if there are too many."""
    named = (UNFIT.sub(" ", source).strip()[:MAX_SOURCE_CHARACTERS] for group in groups for source in group)
    return tuple(dict.fromkeys(filter(None, named)))[:MAX_SOURCES]


def source_of(url: str) -> str:
    """Return the source name of a URL: its host, or the start of the text if it is not a URL."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url[:MAX_SOURCE_CHARACTERS]
    except ValueError:
        return url[:MAX_SOURCE_CHARACTERS]


def in_words(sources: Iterable[str]) -> str:
    """Return the sources as part of a sentence."""
    named = list(sources)
    shown, more = named[:SHOWN_SOURCES], len(named) - SHOWN_SOURCES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def explain(sources: Iterable[str]) -> str:
    """Return the sentence that tells a person why they are asked."""
    return f"Outside content was read before this: {in_words(sources)}."


def holds_address(text: str, url: str) -> bool:
    """Return whether a text contains the complete address verbatim.

    The scheme, a trailing slash and the fragment may be missing on either side; nothing else may differ, because an
    address can carry data out.
    """
    bare = url.partition("#")[0].partition("://")[2].rstrip("/")
    if not bare:
        return False
    start = text.find(bare)
    while start >= 0:
        if _is_whole(text, start, start + len(bare)):
            return True
        start = text.find(bare, start + 1)
    return False


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether the match is not part of a longer address."""
    before = re.search(rf"{URL_CHARACTERS}*$", text[max(0, start - 20) : start])
    lead = before.group() if before else ""
    begins = lead in ("", "(", "[", "<", "'") or lead.endswith(("https://", "http://"))
    rest = text[end : end + LOOK_AHEAD].lstrip("/")
    follows = re.match(rf"{URL_CHARACTERS}", rest)
    if not begins:
        return False
    if follows is None:
        return True
    if follows.group() == "#":
        return True
    return re.match(r"[.,;:!?)\]'*]+(?:[^A-Za-z0-9\-_~/?#@$&+=%]|$)", rest) is not None
