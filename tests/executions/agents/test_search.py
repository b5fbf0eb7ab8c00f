"""Search: words in any order, with typing errors, the best first; long terms are refused."""

from __future__ import annotations

import pytest

from accounts.models import User
from executions.agents import library
from executions.agents.agent_import import import_agent
from executions.agents.errors import QueryTooLong
from executions.agents.search import Texts, find_blocks, rank
from tests.executions.agents.samples import adder

AGENTS = {
    "Daily News Digest": "Collects headlines from RSS feeds and writes a summary each morning.",
    "Weather Reporter": "Tells the weather of a city.",
    "Invoice Reader": "Reads invoices from PDF files and lists their totals.",
    "Newsletter Writer": "Writes a newsletter to customers about a topic.",
    "Translate Text": "Turns a text into another language.",
}


def found(query: str) -> list[str]:
    matches = rank(query, AGENTS.items(), lambda item: Texts(name=item[0], rest=item[1]))
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    return [match.item[0] for match in matches]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("weather reporter", "Weather Reporter"),
        ("reporter weather", "Weather Reporter"),
        ("wether reportr", "Weather Reporter"),
        ("daily news", "Daily News Digest"),
        ("digest of the daily news", "Daily News Digest"),
        ("dialy nwes digest", "Daily News Digest"),
        ("newsletter", "Newsletter Writer"),
        ("news letter customers", "Newsletter Writer"),
        ("rss headlines", "Daily News Digest"),
        ("invoice pdf totals", "Invoice Reader"),
        ("translation", "Translate Text"),
        ("TRANSLATE", "Translate Text"),
        ("trans", "Translate Text"),
    ],
)
def test_the_agent_meant_comes_first(query: str, first: str) -> None:
    assert found(query)[0] == first


@pytest.mark.parametrize("query", ["", "   ", "!!!", "submarine", "zzzz qqqq", "x" * 100])
def test_what_nothing_fits_finds_nothing(query: str) -> None:
    assert found(query) == []


def test_a_term_of_more_than_a_hundred_characters_is_refused(ada: User) -> None:
    for search in (
        lambda: found("x" * 101),
        lambda: library.search_library(ada, "x" * 101),
        lambda: find_blocks("x" * 101),
    ):
        with pytest.raises(QueryTooLong, match="100 characters"):
            search()


def test_a_library_is_searched_by_words_or_id_and_only_ones_own(ada: User, bob: User) -> None:
    mine = [import_agent(ada, adder(name=name, description=text)).agent for name, text in AGENTS.items()]
    other = import_agent(bob, adder(name="Weather Reporter")).agent
    assert library.search_library(ada, "whether weather")[0].item == mine[1]
    assert other not in [match.item for match in library.search_library(ada, "weather")]
    assert [match.item for match in library.search_library(ada, str(mine[2].pk))] == [mine[2]]
    assert library.search_library(ada, str(other.pk)) == []
    library.remove_agent(mine[1])
    assert mine[1] not in [match.item for match in library.search_library(ada, "weather reporter")]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("send email", "Send Email"),
        ("emial", "Send Email"),
        ("calculate", "Calculator"),
        ("rss", "Read RSS Feed"),
        ("current time", "Get Current Time"),
        ("wikipedia", "Get Wikipedia Summary"),
        ("run another agent", "Agent Executor"),
    ],
)
def test_blocks_are_found_by_what_they_do(query: str, name: str) -> None:
    assert name in [match.item.name for match in find_blocks(query)][:3]


def test_a_block_is_found_by_its_id_unless_it_may_not_be_used() -> None:
    block = find_blocks("calculator")[0].item
    assert [match.item for match in find_blocks(block.id)] == [block]
    assert find_blocks(block.id, may_use=lambda one: False) == []
    assert block not in [
        match.item for match in find_blocks("calculator", may_use=lambda one: one is not block)
    ]
