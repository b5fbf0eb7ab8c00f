"""Outside content: where it came from, and what the site's policy says about effects after it was read."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from django.conf import settings

LOOK_AHEAD = 40  # characters after an address that tell whether it goes on
MAX_SOURCES = 20
MAX_SOURCE_CHARACTERS = 100
SHOWN_SOURCES = 3
UNFIT = re.compile(
    r"[^\w .:/@()\[\]-]+"
)  # a source is shown to people and to the model: no markup, no new lines
URL_CHARACTERS = r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]"
DENIED = (
    "This site does not allow that after content from outside was read. Tell the user, and go on without it."
)

Sources = tuple[str, ...]


class Policy(enum.StrEnum):
    """What becomes of an effect that leaves the site when outside content may have asked for it."""

    ASK = "ask"  # a person approves it first
    ALLOW = "allow"  # it happens
    DENY = "deny"  # it is refused


def current_policy() -> Policy:
    return Policy(settings.TAINTED_EFFECTS)


def merge(*groups: Iterable[str]) -> Sources:
    """Join sources without doubles, each fit to be shown; the earliest stay when there are too many."""
    named = (UNFIT.sub(" ", source).strip()[:MAX_SOURCE_CHARACTERS] for group in groups for source in group)
    return tuple(dict.fromkeys(filter(None, named)))[:MAX_SOURCES]


def source_of(url: str) -> str:
    """Name the source of what an address answers: its host, or the beginning of what is no address."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url[:MAX_SOURCE_CHARACTERS]
    except ValueError:
        return url[:MAX_SOURCE_CHARACTERS]


def in_words(sources: Iterable[str]) -> str:
    """The sources as they stand in a sentence."""
    named = list(sources)
    shown, more = named[:SHOWN_SOURCES], len(named) - SHOWN_SOURCES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def explain(sources: Iterable[str]) -> str:
    """Say to a person why they are asked."""
    return f"Content from outside was read before this: {in_words(sources)}."


def holds_address(text: str, url: str) -> bool:
    """Whether a text contains the address word for word, as a whole: what a link leads to, or what a person wrote.

    The scheme, a slash at the end and the fragment may be missing on either side; nothing else may differ, since
    an address can carry data away.
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
    """No part of a longer address: before it a scheme or no address at all, after it nothing that goes on."""
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
