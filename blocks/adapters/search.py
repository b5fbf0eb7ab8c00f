"""Web search through a JSON search endpoint, or in a folder of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote_plus

from rapidfuzz import fuzz

from blocks.ports import HttpPort, PortError, SearchHit
from blocks.schema import JSON, Object
from blocks.support.web_requests import read_body
from boundary.errors import FetchError
from boundary.http import OutboundRequest

MAX_HITS = 10
MAX_SNIPPET_CHARACTERS = 500
MAX_CORPUS_FILE_BYTES = 1024 * 1024
LEAST_SCORE = 60.0
TITLES, URLS = ("title", "name"), ("url", "link", "href")
SNIPPETS = ("content", "snippet", "description", "body", "text")


class EndpointSearch:
    """Queries a JSON search endpoint such as SearXNG; `{query}` in its URL is replaced by the query."""

    def __init__(self, url: str, http: HttpPort) -> None:
        self._url = url if "{query}" in url else f"{url}{'&' if '?' in url else '?'}q={{query}}&format=json"
        self._http = http

    def search(self, query: str) -> Sequence[SearchHit]:
        try:
            response = self._http.fetch(OutboundRequest(url=self._url.replace("{query}", quote_plus(query))))
        except FetchError as error:
            raise PortError(f"The search failed: {error}") from error
        if response.status >= 400:
            raise PortError(f"The search endpoint returned status {response.status}.")
        hits = [hit for entry in find_entries(read_body(response)) if (hit := read_hit(entry))]
        return hits[:MAX_HITS]


class CorpusSearch:
    """Searches a folder of Markdown and text files, for sites without web access."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def search(self, query: str) -> Sequence[SearchHit]:
        scored = [(score(query, text), path, text) for path, text in read_corpus(self._folder)]
        best = sorted(
            (entry for entry in scored if entry[0] >= LEAST_SCORE), key=lambda entry: (-entry[0], entry[1])
        )
        return [make_hit(path, text, query) for _, path, text in best[:MAX_HITS]]


class NoSearch:
    """Reports that no search is configured."""

    def search(self, query: str) -> Sequence[SearchHit]:
        raise PortError(
            "Web search is not configured. An operator can set SEARCH_URL to a JSON search endpoint."
        )


def find_entries(body: JSON) -> Iterator[Object]:
    """Yield the results, wherever the endpoint puts them."""
    if isinstance(body, list):
        yield from (entry for entry in body if isinstance(entry, dict))
    elif isinstance(body, dict):
        for key in ("results", "items", "organic", "organic_results", "data", "web"):
            if isinstance(body.get(key), list | dict):
                yield from find_entries(body[key])
                return


def read_hit(entry: Object) -> SearchHit | None:
    url = first_text(entry, URLS)
    if not url:
        return None
    snippet = " ".join(first_text(entry, SNIPPETS).split())[:MAX_SNIPPET_CHARACTERS]
    return SearchHit(title=first_text(entry, TITLES) or url, url=url, snippet=snippet)


def first_text(entry: Object, names: Sequence[str]) -> str:
    return next((entry[name] for name in names if isinstance(entry.get(name), str) and entry[name]), "")


def read_corpus(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".md", ".txt") and path.is_file() and path.stat().st_size <= MAX_CORPUS_FILE_BYTES:
            yield path.relative_to(folder), path.read_text(encoding="utf-8", errors="replace")


def score(query: str, text: str) -> float:
    """Return how many of the query's words occur in the text, tolerating typos."""
    words = query.lower().split()[:20]
    vocabulary = set(re.findall(r"\w+", text.lower()))
    hits = [max((fuzz.ratio(word, known) for known in vocabulary), default=0.0) for word in words]
    return sum(hit for hit in hits if hit >= 80) / len(words) if words else 0.0


def make_hit(path: Path, text: str, query: str) -> SearchHit:
    lines = [line.strip("# ").strip() for line in text.splitlines() if line.strip()]
    words = query.lower().split()
    best = max(lines, key=lambda line: sum(word in line.lower() for word in words), default="")
    return SearchHit(
        title=lines[0] if lines else path.name, url=path.as_posix(), snippet=best[:MAX_SNIPPET_CHARACTERS]
    )
