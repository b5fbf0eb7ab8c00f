"""The store: published agents, known as `username/slug`, and their copies in other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.text import slugify

from accounts.models import User
from durable.database import in_transaction
from executions import limits
from executions.agents.agent_export import export_version
from executions.agents.agent_import import import_agent
from executions.agents.errors import ListingMissing, NotPublishable, SlugTaken
from executions.agents.search import Match, Texts, check_query, rank
from executions.agents.versions import get_version, validate_version
from executions.models import Agent, AgentVersion, StoreListing

LONGEST_SLUG = 100


def listings() -> QuerySet[StoreListing]:
    """Return the published agents, newest first."""
    rows = StoreListing.objects.filter(withdrawn_at=None, user__is_active=True)
    return rows.select_related("user", "published").defer("published__graph").order_by("-published_at")


def get_listing(username: str, slug: str) -> StoreListing:
    """Return one published agent; raises ListingMissing."""
    found = listings().filter(user__username__iexact=username, slug=slug.lower()).first()
    if found is None:
        raise ListingMissing
    return found


def search_store(query: str, *, most: int = limits.SEARCH_RESULTS) -> list[Match[StoreListing]]:
    """Return published agents that match, best first; `username/slug` finds just that. Raises QueryTooLong."""
    username, _, slug = check_query(query).partition("/")
    try:
        return [Match(item=get_listing(username.strip(), slug.strip()), score=100.0)]
    except ListingMissing:
        return rank(query, listings()[: limits.MAX_SEARCHED_ROWS], texts_of, most=most)


def texts_of(listing: StoreListing) -> Texts:
    words = [listing.description, listing.user.username, *map(str, listing.categories)]
    return Texts(name=f"{listing.name} {listing.slug}", rest=" ".join(words))


@in_transaction
def publish(
    agent: Agent,
    *,
    slug: str = "",
    name: str = "",
    description: str = "",
    categories: Sequence[str] = (),
) -> StoreListing:
    """Offer the newest version of an agent; the same slug again replaces what is offered under it.

    Raises NotPublishable for an agent that cannot run, SlugTaken when another of the user's agents has the slug.
    """
    version = get_version(agent)
    if not (report := validate_version(version)).valid:
        raise NotPublishable(f"This agent cannot run: {report.errors[0].message}")
    chosen = slugify(slug or agent.name)[:LONGEST_SLUG].strip("-") or "agent"
    known = StoreListing.objects.filter(user=agent.user, slug=chosen).select_related("published").first()
    if known and known.withdrawn_at is None and known.published.agent_id != agent.pk:
        raise SlugTaken
    about = {
        "published": version,
        "name": name or agent.name,
        "description": description or agent.description,
        "categories": list(categories),
        "withdrawn_at": None,
        "published_at": timezone.now(),
    }
    listing, _ = StoreListing.objects.update_or_create(user=agent.user, slug=chosen, defaults=about)
    return listing


def withdraw(user: User, username: str, slug: str) -> None:
    """Remove the user's own listing from the store; copies stay. Raises ListingMissing."""
    listing = get_listing(username, slug)
    if listing.user_id != user.pk:
        raise ListingMissing
    StoreListing.objects.filter(pk=listing.pk).update(withdrawn_at=timezone.now())


def add_to_library(user: User, username: str, slug: str) -> tuple[Agent, bool]:
    """Return the user's copy of a published agent and whether it was created now. Raises ListingMissing."""
    listing = get_listing(username, slug)
    if known := find_copy(user, listing):
        return known, False
    try:
        return copy_listing(user, listing), True
    except IntegrityError:  # added at the same moment from another device
        copied = find_copy(user, listing)
        if copied is None:
            raise
        return copied, False


def offered_graph(listing: StoreListing) -> dict[str, Any]:
    """Return the agent JSON that a copy is made from, without secrets."""
    return export_version(AgentVersion.objects.select_related("agent").get(pk=listing.published_id))


def find_copy(user: User, listing: StoreListing) -> Agent | None:
    """Return the user's copy; for their own listing the agent itself."""
    if listing.user_id == user.pk:
        original = Agent.objects.filter(pk=listing.published.agent_id, deleted_at=None).first()
        if original:
            return original
    return Agent.objects.filter(user=user, listing=listing, deleted_at=None, part_of=None).first()


@in_transaction
def copy_listing(user: User, listing: StoreListing) -> Agent:
    version = AgentVersion.objects.select_related("agent").get(pk=listing.published_id)
    stored = import_agent(user, export_version(version), source=Agent.Source.STORE, listing=listing)
    StoreListing.objects.filter(pk=listing.pk).update(additions=F("additions") + 1)
    return stored.agent
