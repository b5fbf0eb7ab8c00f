"""Nearest names: for suggestions in messages, and for safe repairs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rapidfuzz import fuzz, process

SHOWN_NAMES = 12
WORTH_NAMING = 60
BEYOND_DOUBT = 80
AHEAD = 12  # how much nearer than the second nearest


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return a sentence with the nearest name, if there is one, and the names there are."""
    if not names:
        return "It has none."
    near = process.extractOne(
        plain(name), names, scorer=fuzz.ratio, processor=plain, score_cutoff=WORTH_NAMING
    )
    shown = ", ".join(one[:60] for one in names[:SHOWN_NAMES]) + (" …" if len(names) > SHOWN_NAMES else "")
    return f"Did you mean {near[0]!r}? It has: {shown}." if near else f"It has: {shown}."


def nearest(name: str, names: Collection[str]) -> str | None:
    """Return the only name that can be meant, else None: equal but for case and separators, or clearly nearest."""
    same = [one for one in names if plain(one) == plain(name)]
    if same:
        return same[0] if len(same) == 1 else None
    near = process.extract(plain(name), list(names), scorer=fuzz.ratio, processor=plain, limit=2)
    if not near or near[0][1] < BEYOND_DOUBT:
        return None
    if len(near) > 1 and near[0][1] - near[1][1] < AHEAD:
        return None
    return str(near[0][0])


def plain(name: str) -> str:
    """Return a name in lower case without separators, cut to 200 characters."""
    return "".join(character for character in name[:200].lower() if character.isalnum())
