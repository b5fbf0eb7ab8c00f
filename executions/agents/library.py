"""The library of a user: list, find, rename and remove agents."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.models import User
from durable.database import in_transaction
from executions import limits
from executions.agents.errors import AgentMissing
from executions.agents.search import Match, Texts, rank
from executions.models import Agent, AgentVersion, StoreListing
from executions.signals import agent_removed


def agents_of(user: User) -> QuerySet[Agent]:
    """Return the agents listed in a library, latest change first, without sub-agents."""
    rows = Agent.objects.filter(user=user, deleted_at=None, part_of=None)
    return rows.select_related("listing", "listing__user").order_by("-updated_at")


def get_agent(user: User, agent_id: uuid.UUID | str) -> Agent:
    """Return one of the user's agents by id, sub-agents included; raises AgentMissing."""
    try:
        key = uuid.UUID(str(agent_id))
    except ValueError:
        raise AgentMissing from None
    rows = Agent.objects.filter(user=user, deleted_at=None).select_related("user", "listing", "listing__user")
    agent = rows.filter(pk=key).first()
    if agent is None:
        raise AgentMissing
    return agent


def get_removed_agent(user: User, agent_id: uuid.UUID | str) -> Agent:
    """Return an agent that the user removed from the library; its executions remain. Raises AgentMissing."""
    try:
        key = uuid.UUID(str(agent_id))
    except ValueError:
        raise AgentMissing from None
    agent = Agent.objects.filter(user=user, pk=key).exclude(deleted_at=None).first()
    if agent is None:
        raise AgentMissing
    return agent


def get_kept_agent(user: User, agent_id: uuid.UUID | str) -> Agent:
    """Return an agent of the library, or one that was removed from it: its past runs show its graph."""
    try:
        return get_agent(user, agent_id)
    except AgentMissing:
        return get_removed_agent(user, agent_id)


def search_library(user: User, query: str, *, most: int = limits.SEARCH_RESULTS) -> list[Match[Agent]]:
    """Return the user's agents that match a query, best first; an id finds its agent. Raises QueryTooLong."""
    ranked = rank(query, agents_of(user)[: limits.MAX_SEARCHED_ROWS], texts_of, most=most)
    try:
        exact = get_agent(user, query.strip())
    except AgentMissing:
        return ranked
    return [Match(item=exact, score=100.0)]


def texts_of(agent: Agent) -> Texts:
    return Texts(name=agent.name, rest=agent.description)


def newest_versions(agents: list[Agent]) -> dict[uuid.UUID, AgentVersion]:
    """Return the newest version of each, without its graph, in one query."""
    rows = AgentVersion.objects.filter(agent__in=agents, version=F("agent__latest_version"))
    return {row.agent_id: row for row in rows.defer("graph")}


def change_agent(agent: Agent, *, name: str | None = None, description: str | None = None) -> Agent:
    """Change name or description, without a new version."""
    fields = {"name": name, "description": description}
    changed = {field: value for field, value in fields.items() if value is not None}
    for field, value in changed.items():
        setattr(agent, field, value)
    agent.save(update_fields=[*changed, "updated_at"])
    return agent


@dataclass(frozen=True, kw_only=True)
class Uses:
    """What starts an agent, and the names under which the store offers it."""

    schedules: int
    triggers: int
    listings: list[str]


def uses_of(agent: Agent) -> Uses:
    """Return what is affected when the agent is removed."""
    offered = StoreListing.objects.filter(published__agent=agent, withdrawn_at=None).select_related("user")
    return Uses(
        schedules=agent.schedules.count(),
        triggers=agent.triggers.count(),
        listings=[f"{listing.user.username}/{listing.slug}" for listing in offered],
    )


@in_transaction
def remove_agent(agent: Agent) -> None:
    """Remove it and its sub-agents from the library; its executions stay. Repeating it changes nothing."""
    now = timezone.now()
    removed = Agent.objects.filter(pk=agent.pk, deleted_at=None).update(deleted_at=now)
    Agent.objects.filter(part_of=agent, deleted_at=None).update(deleted_at=now)
    if removed:
        agent_removed.send(sender=Agent, agent=agent)
