"""Sources and files of an answer: which addresses count, each once, within limits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from chat import limits
from chat.attachments import add_files_made
from chat.outside_content import add_sources
from workspace import files


def page(url: str, title: Any = "T", **more: Any) -> dict[str, Any]:
    return {"type": "web_fetch", "url": url, "title": title, "status_code": 200} | more


def urls(*results: Any) -> list[str]:
    return [source["url"] for source in add_sources([], results)]


def test_pages_are_numbered_and_each_is_named_once() -> None:
    first = add_sources([], [page("https://a.example/x", "A")])
    search = {"type": "web_search", "results": [{"url": "https://a.example/x"}, {"url": "http://b.example"}]}
    assert add_sources(first, [search, {"sources": [{"url": "https://c.example", "title": "C"}]}]) == [
        {"id": "1", "url": "https://a.example/x", "title": "A"},
        {"id": "2", "url": "http://b.example", "title": ""},
        {"id": "3", "url": "https://c.example", "title": "C"},
    ]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//a.example",
        "https://",
        "https://[",
        "https://trusted.example@evil.example/",
        "https://a.example/" + "x" * 2_000,
        "https://a.example/\0",
        "",
    ],
)
def test_what_is_no_page_of_the_web_is_no_source(url: str) -> None:
    assert urls(page(url)) == []


@pytest.mark.parametrize(
    "result",
    [
        None,
        "https://a.example",
        [],
        page("https://a.example", status_code=404),
        {"type": "other", "url": "https://a.example"},
        {"type": "other", "results": [{"url": "https://a.example"}]},
        {"type": "web_search", "results": "https://a.example"},
        {"sources": [1, {"url": 2}, {"title": "x"}]},
    ],
)
def test_other_results_have_no_sources(result: Any) -> None:
    assert urls(result) == []


def test_titles_and_numbers_are_bounded() -> None:
    [source] = add_sources([], [page("https://a.example", "x" * 1_000)])
    assert len(source["title"]) == limits.MAX_SOURCE_TITLE_CHARACTERS
    assert add_sources([], [page("https://a.example", {"no": "text"})])[0]["title"] == ""
    many = [page(f"https://a.example/{number}") for number in range(limits.MAX_SOURCES_PER_TURN + 5)]
    assert len(add_sources([], many)) == limits.MAX_SOURCES_PER_TURN


@pytest.mark.django_db
def test_files_count_that_were_made_since_the_turn_began() -> None:
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    began = timezone.now()
    made = files.save(ada, "a b.txt", b"x")
    results = [{"file": made.reference}, {"again": [made.reference]}]
    expected = [{"url": f"/api/files/{made.pk}/content#a%20b.txt", "media_type": "text/plain"}]
    assert add_files_made([], results, user=ada, since=began) == expected
    assert add_files_made(expected, results, user=ada, since=began) == expected
    assert add_files_made([], results, user=ada, since=timezone.now() + timedelta(minutes=1)) == []
    assert add_files_made([], results, user=bob, since=began) == []
    assert add_files_made([], results, user=None, since=began) == []
    assert add_files_made([], [{"file": "workspace://none"}], user=ada, since=began) == []
