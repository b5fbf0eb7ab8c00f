"""Full-text search in the product's documentation, by section."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz, process

HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
FENCE = re.compile(r"^\s*(```|~~~)")
LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
WORD = re.compile(r"[a-z0-9]+")
SMALL_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "how",
        "i",
        "in",
        "is",
        "it",
        "my",
        "of",
        "on",
        "or",
        "the",
        "to",
        "what",
        "with",
        "you",
    ]
)
SIMILAR = 75  # minimal similarity, of 100, of a query word and an indexed word
SNIPPET_CHARACTERS = 300
SECTIONS_OF_A_PAGE = 2
SATURATION, LENGTH_WEIGHT = 1.2, 0.75  # BM25's usual k1 and b


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading and the text below it, up to the next heading."""

    path: str
    page_title: str
    title: str
    anchor: str
    text: str

    @property
    def address(self) -> str:
        return f"{self.path}#{self.anchor}" if self.anchor else self.path


@dataclass(frozen=True, kw_only=True)
class MarkdownPage:
    """One Markdown file."""

    path: str
    title: str
    text: str
    sections: tuple[Section, ...]


class DocsIndex:
    """All pages below a folder, read once."""

    def __init__(self, pages: Sequence[MarkdownPage]) -> None:
        self.pages = {page.path: page for page in pages}
        self.sections = [section for page in pages for section in page.sections]
        self.words = [_weighted_words(section) for section in self.sections]
        self.lengths = [words.total() for words in self.words]
        self.usual_length = sum(self.lengths) / max(len(self.lengths), 1)
        spread = Counter(word for words in self.words for word in words)
        self.rarity = {word: math.log(1 + len(self.sections) / count) for word, count in spread.items()}

    @classmethod
    def read(cls, folder: Path) -> DocsIndex:
        found = sorted(folder.rglob("*.md")) if folder.is_dir() else []
        return cls(
            [
                read_page(path.relative_to(folder).as_posix(), path.read_text("utf-8", "replace"))
                for path in found
            ]
        )

    def search(self, query: str, limit: int) -> list[Section]:
        """Return the best sections, at most a few per page; typos are tolerated."""
        wanted = [word for word in words_of(query) if word not in SMALL_WORDS]
        known = {match: score / 100 for word in wanted for match, score in self._similar(word)}
        scores = [self._score(index, known) for index in range(len(self.sections))]
        best: list[Section] = []
        taken: Counter[str] = Counter()
        for index in sorted(range(len(scores)), key=lambda index: -scores[index]):
            section = self.sections[index]
            if scores[index] > 0 and taken[section.path] < SECTIONS_OF_A_PAGE and len(best) < limit:
                taken[section.path] += 1
                best.append(section)
        return best

    def _score(self, index: int, known: Mapping[str, float]) -> float:
        """Return the BM25 score: rare words count more, repeated words and long sections less."""
        words, length = self.words[index], self.lengths[index] / self.usual_length
        damping = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length)
        return sum(
            similarity * self.rarity[word] * words[word] * (SATURATION + 1) / (words[word] + damping)
            for word, similarity in known.items()
            if word in words
        )

    def _similar(self, word: str) -> list[tuple[str, float]]:
        if word in self.rarity:
            return [(word, 100.0)]
        found = process.extract(word, list(self.rarity), scorer=fuzz.ratio, score_cutoff=SIMILAR, limit=3)
        return [(match, score) for match, score, _ in found]

    def page(self, path: str) -> MarkdownPage | None:
        """Return a page by its path or, where only one page has it, its file name; None for anything else.

        `docs/` in front and `.md` behind may be left out.
        """
        path = path.strip().removeprefix("/").removeprefix("docs/").removesuffix(".md") + ".md"
        named = [page for page in self.pages.values() if page.path.endswith(f"/{path}")]
        return self.pages.get(path) or (named[0] if len(named) == 1 else None)

    def nearest(self, path: str, limit: int) -> list[str]:
        """Return the paths of the pages whose path or title is most like this one, best first."""
        names = {page.path: f"{page.path} {page.title}" for page in self.pages.values()}
        found = process.extract(path, names, scorer=fuzz.token_set_ratio, limit=limit)
        return [path for _, _, path in found]


@cache
def docs_index(folder: Path) -> DocsIndex:
    """Return the index of a folder; read once per process."""
    return DocsIndex.read(folder)


def read_page(path: str, text: str) -> MarkdownPage:
    """Split a page at its headings; a `#` inside a code block is not a heading."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(FENCE.match(line))
        heading = None if fenced else HEADING.match(line)
        if heading:
            sections.append((LINK.sub(r"\1", heading[2]), []))
        elif fenced or not line.startswith("<!--"):
            sections[-1][1].append(line)
    title = next((name for name, _ in sections if name), path)
    made = [
        Section(
            path=path, page_title=title, title=name or title, anchor=slug(name), text="\n".join(lines).strip()
        )
        for name, lines in sections
        if name or "".join(lines).strip()
    ]
    return MarkdownPage(path=path, title=title, text=text, sections=tuple(made))


def slug(title: str) -> str:
    """Return the anchor of a heading, as Markdown viewers make it."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def snippet(text: str) -> str:
    """Return the beginning of a section on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SNIPPET_CHARACTERS else line[: SNIPPET_CHARACTERS - 1].rstrip() + "…"


def words_of(text: str) -> list[str]:
    """Return the lower-case stems of the words, so that `adding tools` finds `add a tool`."""
    return [stem_of(word) for word in WORD.findall(text.lower())]


@lru_cache(maxsize=20_000)  # stemming every word of the documentation anew takes seconds
def stem_of(word: str) -> str:
    stem: str = english_stemmer().stemWord(word)
    return stem


@cache
def english_stemmer() -> Any:
    from snowballstemmer import stemmer  # type: ignore[import-untyped]  # brings thirty languages along

    return stemmer("english")


def _weighted_words(section: Section) -> Counter[str]:
    words = Counter(words_of(section.text))
    for word in words_of(f"{section.title} {section.page_title} {section.path}"):
        words[word] += 5
    return words
