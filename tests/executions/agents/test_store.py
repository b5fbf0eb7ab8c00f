"""The store: publishing, withdrawing, finding and taking agents."""

from __future__ import annotations

import json

import pytest

from accounts.models import User
from executions.agents import library, store
from executions.agents.agent_import import import_agent
from executions.agents.errors import ListingMissing, NotPublishable, QueryTooLong, SlugTaken
from executions.agents.versions import get_version, save_graph
from executions.models import Agent, StoreListing
from tests.executions.agents.samples import adder, agent, newsroom, node, old_discord_template


def published(user: User, **fields: str) -> StoreListing:
    return store.publish(import_agent(user, adder(**fields)).agent)


def test_an_agent_is_published_under_a_slug_of_its_name(ada: User) -> None:
    listing = published(ada, name="Adding & More!", description="It adds.")
    assert (listing.slug, listing.name, listing.description) == ("adding-more", "Adding & More!", "It adds.")
    assert store.get_listing("ADA", "adding-more") == listing


def test_an_agent_without_a_name_in_letters_gets_a_slug_all_the_same(ada: User) -> None:
    assert published(ada, name="数据").slug == "agent"


def test_publishing_again_offers_the_newest_version_under_the_same_slug(ada: User) -> None:
    made = import_agent(ada, adder())
    first = store.publish(made.agent, categories=["math"])
    save_graph(made.agent, adder(unknown=1))
    second = store.publish(library.get_agent(ada, made.agent.pk))
    assert first.pk == second.pk
    assert second.published.version == 2
    assert store.listings().count() == 1


def test_a_slug_belongs_to_one_agent_until_it_is_withdrawn(ada: User, bob: User) -> None:
    published(ada)
    with pytest.raises(SlugTaken):
        published(ada)
    assert published(bob).slug == "sample"
    store.withdraw(ada, "ada", "sample")
    assert published(ada).slug == "sample"


def test_an_agent_that_cannot_run_is_not_published(ada: User) -> None:
    broken = import_agent(ada, old_discord_template())
    with pytest.raises(NotPublishable, match="Send Discord Message is not installed"):
        store.publish(broken.agent)
    assert not StoreListing.objects.exists()


def test_a_withdrawn_agent_is_not_offered_and_copies_stay(ada: User, bob: User) -> None:
    published(ada)
    copy, _ = store.add_to_library(bob, "ada", "sample")
    store.withdraw(ada, "ada", "sample")
    assert not store.listings().exists()
    assert library.get_agent(bob, copy.pk) == copy
    for act in (store.get_listing, lambda name, slug: store.add_to_library(bob, name, slug)):
        with pytest.raises(ListingMissing):
            act("ada", "sample")


def test_only_its_owner_withdraws_a_listing(ada: User, bob: User) -> None:
    published(ada)
    with pytest.raises(ListingMissing):
        store.withdraw(bob, "ada", "sample")
    assert store.listings().count() == 1


def test_adding_copies_the_agent_with_its_sub_agents(ada: User, bob: User) -> None:
    store.publish(import_agent(ada, newsroom()).agent)
    copy, is_new = store.add_to_library(bob, "ada", "newsroom")
    assert is_new
    assert (copy.user, copy.source, copy.listing.slug if copy.listing else "") == (
        bob,
        Agent.Source.STORE,
        "newsroom",
    )
    assert {part.name for part in copy.sub_agents.all()} == {"Writer", "Researcher", "Checker"}
    assert all(part.user == bob for part in copy.sub_agents.all())
    assert get_version(copy).is_valid
    assert StoreListing.objects.get().additions == 1


def test_adding_twice_returns_the_same_copy_and_counts_once(ada: User, bob: User) -> None:
    published(ada)
    first, second = (store.add_to_library(bob, "ada", "sample") for _ in range(2))
    assert (first[0], first[1], second[1]) == (second[0], True, False)
    assert StoreListing.objects.get().additions == 1


def test_a_copy_that_was_removed_can_be_added_again(ada: User, bob: User) -> None:
    published(ada)
    first, _ = store.add_to_library(bob, "ada", "sample")
    library.remove_agent(first)
    second, is_new = store.add_to_library(bob, "ada", "sample")
    assert is_new
    assert second != first


def test_ones_own_published_agent_is_already_in_the_library(ada: User) -> None:
    made = import_agent(ada, adder()).agent
    store.publish(made)
    assert store.add_to_library(ada, "ada", "sample") == (made, False)


def test_nothing_private_reaches_a_copy(ada: User, bob: User) -> None:
    nodes = [node("db", "SQL Query", host="db.internal", database="d", query="select 1")]
    store.publish(import_agent(ada, agent(nodes)).agent)
    copy, _ = store.add_to_library(bob, "ada", "sample")
    assert "db.internal" not in json.dumps(get_version(copy).graph)


def test_the_store_is_searched_by_words_or_by_its_name(ada: User, bob: User) -> None:
    weather = published(ada, name="Weather Reporter", description="Tells the weather.")
    news = store.publish(import_agent(bob, adder(name="News Digest")).agent, categories=["media"])
    assert store.search_store("reportr wether")[0].item == weather
    assert [match.item for match in store.search_store("bob/news-digest")] == [news]
    assert [match.item for match in store.search_store("media")] == [news]
    assert store.search_store("submarine") == []
    with pytest.raises(QueryTooLong):
        store.search_store("x" * 101)


def test_a_person_who_published_can_be_deleted(ada: User, bob: User) -> None:
    published(ada)
    copy, _ = store.add_to_library(bob, "ada", "sample")
    ada.delete()
    copy.refresh_from_db()
    assert copy.listing is None
