"""search_docs and get_doc_page: the product's own documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from django.conf import settings
from pydantic import BaseModel, Field

from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.docs_search import DocsIndex, MarkdownPage, docs_index, slug, snippet
from tools.errors import NoResults

MAX_FOUND = 8
SUGGESTED = 10
PAGE_CHARACTERS = 9_000


class SearchDocsArgs(ToolArgs):
    query: str = Field(min_length=1, max_length=100)


class FoundSection(BaseModel):
    title: str
    section: str
    path: str = Field(description="For get_doc_page.")
    snippet: str


class DocSearchResults(ToolResult):
    type: Literal["doc_search_results"] = "doc_search_results"
    results: list[FoundSection]
    count: int


@tool(reads=Reads.NOTHING, holds=False)
def search_docs(args: SearchDocsArgs, context: ToolContext) -> DocSearchResults:
    """Search this product's documentation: how it works, how to use, configure and run it."""
    found = pages().search(args.query, MAX_FOUND)
    if not found:
        raise NoResults(
            f"The documentation has nothing about {args.query!r}.", suggestions=["Try other words."]
        )
    results = [
        FoundSection(title=item.page_title, section=item.title, path=item.address, snippet=snippet(item.text))
        for item in found
    ]
    return DocSearchResults(message=f"Found {len(results)} sections.", results=results, count=len(results))


class PageArgs(ToolArgs):
    path: str = Field(
        min_length=1, max_length=300, description="As in search_docs: page.md or page.md#section."
    )


class DocPage(ToolResult):
    type: Literal["doc_page"] = "doc_page"
    title: str
    path: str
    content: str
    sections: list[str]


@tool(reads=Reads.NOTHING, holds=False)
def get_doc_page(args: PageArgs, context: ToolContext) -> DocPage:
    """Read a page of the documentation, or one section of it."""
    path, _, anchor = args.path.partition("#")
    page = pages().page(path)
    if page is None:
        raise NoResults(f"There is no page {path!r}.", suggestions=pages().nearest(path, SUGGESTED))
    content = section_text(page, anchor) if anchor else page.text
    if content is None:
        raise NoResults(f"{page.path} has no section {anchor!r}.", suggestions=addresses(page))
    cut = len(content) > PAGE_CHARACTERS
    return DocPage(
        message="The start of the page." if cut else "The whole text.",
        next_step="Read the rest by section." if cut else "",
        title=page.title,
        path=page.path,
        content=content[:PAGE_CHARACTERS],
        sections=addresses(page) if cut or not anchor else [],
    )


def pages() -> DocsIndex:
    return docs_index(Path(settings.BASE_DIR) / "docs")


def section_text(page: MarkdownPage, anchor: str) -> str | None:
    found = [item for item in page.sections if item.anchor == slug(anchor)]
    return f"{found[0].title}\n\n{found[0].text}" if found else None


def addresses(page: MarkdownPage) -> list[str]:
    return [item.address for item in page.sections if item.anchor][:60]
