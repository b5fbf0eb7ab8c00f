"""Nearest names: for a sentence that helps, and for a repair that is beyond doubt."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rapidfuzz import fuzz, process

SHOWN_NAMES = 12
WORTH_NAMING = 60
BEYOND_DOUBT = 80
AHEAD = 12  # how much nearer than the second nearest


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """The nearest name where there is one, and what there is."""
    if not names:
        return "It has none."
    near = process.extractOne(
        plain(name), names, scorer=fuzz.ratio, processor=plain, score_cutoff=WORTH_NAMING
    )
    shown = ", ".join(one[:60] for one in names[:SHOWN_NAMES]) + (" …" if len(names) > SHOWN_NAMES else "")
    return f"Did you mean {near[0]!r}? It has: {shown}." if near else f"It has: {shown}."


def nearest(name: str, names: Collection[str]) -> str | None:
    """The one name that must be meant, or None: the same but for case and separators, or near and far from others."""
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
    """A name without case and separators, cut where it stops being one."""
    return "".join(character for character in name[:200].lower() if character.isalnum())
