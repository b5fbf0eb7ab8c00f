"""The product's own documentation, cut into sections that can be searched and read."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rapidfuzz import fuzz, process

HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
FENCE = re.compile(r"^\s*(```|~~~)")
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
SIMILAR = 75  # how alike, of 100, the stems of a word of the question and of the pages must be
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
class Page:
    """One Markdown file."""

    path: str
    title: str
    text: str
    sections: tuple[Section, ...]


class Handbook:
    """All pages below a folder, read once."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.pages = {page.path: page for page in pages}
        self.sections = [section for page in pages for section in page.sections]
        self.words = [_weighted_words(section) for section in self.sections]
        self.lengths = [words.total() for words in self.words]
        self.usual_length = sum(self.lengths) / max(len(self.lengths), 1)
        spread = Counter(word for words in self.words for word in words)
        self.rarity = {word: math.log(1 + len(self.sections) / count) for word, count in spread.items()}

    @classmethod
    def read(cls, folder: Path) -> Handbook:
        found = sorted(folder.rglob("*.md")) if folder.is_dir() else []
        return cls(
            [
                read_page(path.relative_to(folder).as_posix(), path.read_text("utf-8", "replace"))
                for path in found
            ]
        )

    def search(self, query: str, limit: int) -> list[Section]:
        """The sections that answer best, a few of each page; typos are forgiven."""
        wanted = [word for word in words_of(query) if word not in SMALL_WORDS]
        known = {match: score / 100 for word in wanted for match, score in self._alike(word)}
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
        """BM25: rare words count more, the tenth time a word is said little, and long sections win nothing by it."""
        words, length = self.words[index], self.lengths[index] / self.usual_length
        damping = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length)
        return sum(
            alike * self.rarity[word] * words[word] * (SATURATION + 1) / (words[word] + damping)
            for word, alike in known.items()
            if word in words
        )

    def _alike(self, word: str) -> list[tuple[str, float]]:
        if word in self.rarity:
            return [(word, 100.0)]
        found = process.extract(word, list(self.rarity), scorer=fuzz.ratio, score_cutoff=SIMILAR, limit=3)
        return [(match, score) for match, score, _ in found]

    def page(self, path: str) -> Page | None:
        """A page by its path, with or without `docs/` in front and `.md` behind. Only pages that were read exist."""
        path = path.strip().removeprefix("/").removeprefix("docs/")
        return self.pages.get(path) or self.pages.get(f"{path}.md")


@cache
def handbook(folder: Path) -> Handbook:
    """The pages of a folder; read once per process."""
    return Handbook.read(folder)


def read_page(path: str, text: str) -> Page:
    """Cut a page at its headings; a `#` inside a code block is none."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(FENCE.match(line))
        heading = None if fenced else HEADING.match(line)
        if heading:
            sections.append((heading[2], []))
        else:
            sections[-1][1].append(line)
    title = next((name for name, _ in sections if name), path)
    made = [
        Section(
            path=path, page_title=title, title=name or title, anchor=slug(name), text="\n".join(lines).strip()
        )
        for name, lines in sections
        if name or "".join(lines).strip()
    ]
    return Page(path=path, title=title, text=text, sections=tuple(made))


def slug(title: str) -> str:
    """The anchor of a heading, as Markdown viewers make it."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def snippet(text: str) -> str:
    """The beginning of a section on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SNIPPET_CHARACTERS else line[: SNIPPET_CHARACTERS - 1].rstrip() + "…"


def words_of(text: str) -> list[str]:
    """Lower case and down to their stems, so that `adding tools` finds `add a tool`."""
    from snowballstemmer import stemmer  # type: ignore[import-untyped]  # brings thirty languages along

    stems: list[str] = stemmer("english").stemWords(WORD.findall(text.lower()))
    return stems


def _weighted_words(section: Section) -> Counter[str]:
    words = Counter(words_of(section.text))
    for word in words_of(f"{section.title} {section.page_title} {section.path}"):
        words[word] += 5
    return words
