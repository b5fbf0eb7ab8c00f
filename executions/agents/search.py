"""Fuzzy search: words in any order, tolerant of typos, best match first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rapidfuzz import fuzz, process

from blocks.base import Block
from blocks.registry import BlockRegistry, get_registry
from executions import limits
from executions.agents.errors import QueryTooLong
from executions.agents.validation.scope import allow_all

Item = TypeVar("Item")
WORD = re.compile(r"\w+")
LITTLE_WORDS = frozenset(
    word
    for words in (
        "a an and are as at be by do for from i in into",
        "is it me my of on or that the this to with",
    )
    for word in words.split()
)
SAME_WORD = 75.0  # from here on two words count as equal but for a typo
ENOUGH = 45.0  # of 100; below it there is no match
NAME, REST = 1.0, 0.75  # weight of a word by where it is found
BEGINNING = 92.0  # for the beginning of a word
SHORTEST_BEGINNING = 3


@dataclass(frozen=True, kw_only=True)
class Match(Generic[Item]):
    """An item and its score, 0 to 100."""

    item: Item
    score: float


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The texts of an item that are searched: its name, and the rest."""

    name: str
    rest: str = ""


def check_query(query: str) -> str:
    """Return the query trimmed; raises QueryTooLong."""
    if len(query) > limits.MAX_QUERY_CHARACTERS:
        raise QueryTooLong
    return query.strip()


def rank(
    query: str, items: Iterable[Item], texts_of: Callable[[Item], Texts], *, most: int = limits.SEARCH_RESULTS
) -> list[Match[Item]]:
    """Return the items that match, best first; none for an empty query. Raises QueryTooLong."""
    wanted = words_of(check_query(query))
    if not wanted:
        return []
    scored = (Match(item=item, score=score(wanted, texts_of(item))) for item in items)
    found = [match for match in scored if match.score >= ENOUGH]
    found.sort(key=lambda match: -match.score)
    return found[:most]


def words_of(text: str) -> list[str]:
    """Return its words in lower case, without stop words unless there are no others."""
    words = WORD.findall(text.lower().replace("_", " "))
    return [word for word in words if word not in LITTLE_WORDS] or words


def score(wanted: Sequence[str], texts: Texts) -> float:
    """Return how much of the query is found; a name that is exactly the query scores best."""
    name, rest = words_of(texts.name), words_of(texts.rest)
    found = [max(NAME * nearness(word, name), REST * nearness(word, rest)) for word in wanted]
    whole = fuzz.token_sort_ratio(" ".join(wanted), " ".join(name))
    return max(0.9 * sum(found) / len(wanted) + 0.1 * whole, whole if whole >= 85 else 0.0)


def nearness(word: str, words: Sequence[str]) -> float:
    """Return how well a word is found among others: equal, as a prefix, or with a typo."""
    if not words:
        return 0.0
    if word in words:
        return 100.0
    if len(word) >= SHORTEST_BEGINNING and any(one.startswith(word) for one in words):
        return BEGINNING
    near = process.extractOne(word, words, scorer=fuzz.ratio, score_cutoff=SAME_WORD)
    return float(near[1]) if near else 0.0


def find_blocks(
    query: str,
    *,
    registry: BlockRegistry | None = None,
    may_use: Callable[[Block], bool] = allow_all,
    most: int = limits.SEARCH_RESULTS,
) -> list[Match[Block]]:
    """Return blocks that match a query, best first; an id finds its block. Raises QueryTooLong."""
    known = registry or get_registry()
    exact = check_query(query)
    if exact in known:
        found = known.get(exact)
        return [Match(item=found, score=100.0)] if may_use(found) else []
    return rank(query, (block for block in known if may_use(block)), texts_of, most=most)


def texts_of(block: Block) -> Texts:
    pins = " ".join([*block.inputs_by_name, *block.outputs_by_name])
    return Texts(name=block.name, rest=f"{block.description} {block.category} {pins}")
