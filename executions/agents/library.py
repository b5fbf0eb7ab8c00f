"""A person's library: which agents they have, finding one, renaming and removing it."""

from __future__ import annotations

import uuid

from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.models import User
from durable import limits
from durable.retrying import in_transaction
from executions.agents.errors import AgentMissing
from executions.agents.search import Match, Texts, rank
from executions.agents.signals import agent_removed
from executions.models import Agent, AgentVersion


def agents_of(user: User) -> QuerySet[Agent]:
    """The agents listed in a library, the latest changed first; sub-agents are part of theirs."""
    rows = Agent.objects.filter(user=user, deleted_at=None, part_of=None)
    return rows.select_related("listing", "listing__user").order_by("-updated_at")


def get_agent(user: User, agent_id: uuid.UUID | str) -> Agent:
    """One of the user's agents by its id, sub-agents included; raises AgentMissing."""
    try:
        key = uuid.UUID(str(agent_id))
    except ValueError:
        raise AgentMissing from None
    rows = Agent.objects.filter(user=user, deleted_at=None).select_related("user", "listing", "listing__user")
    agent = rows.filter(pk=key).first()
    if agent is None:
        raise AgentMissing
    return agent


def search_library(user: User, query: str, *, most: int = limits.SEARCH_RESULTS) -> list[Match[Agent]]:
    """The user's agents that fit some words, the best first; an id finds its agent. Raises QueryTooLong."""
    ranked = rank(query, agents_of(user)[: limits.MAX_SEARCHED_ROWS], texts_of, most=most)
    try:
        exact = get_agent(user, query.strip())
    except AgentMissing:
        return ranked
    return [Match(item=exact, score=100.0)]


def texts_of(agent: Agent) -> Texts:
    return Texts(name=agent.name, rest=agent.description)


def newest_versions(agents: list[Agent]) -> dict[uuid.UUID, AgentVersion]:
    """The newest version of each, without its graph, in one query."""
    rows = AgentVersion.objects.filter(agent__in=agents, version=F("agent__latest_version"))
    return {row.agent_id: row for row in rows.defer("graph")}


def change_agent(agent: Agent, *, name: str | None = None, description: str | None = None) -> Agent:
    """Rename or describe it anew; that makes no new version."""
    fields = {"name": name, "description": description}
    changed = {field: value for field, value in fields.items() if value is not None}
    for field, value in changed.items():
        setattr(agent, field, value)
    agent.save(update_fields=[*changed, "updated_at"])
    return agent


@in_transaction
def remove_agent(agent: Agent) -> None:
    """Take it out of the library with its sub-agents; its executions still tell what it was. Again: nothing."""
    now = timezone.now()
    removed = Agent.objects.filter(pk=agent.pk, deleted_at=None).update(deleted_at=now)
    Agent.objects.filter(part_of=agent, deleted_at=None).update(deleted_at=now)
    if removed:
        agent_removed.send(sender=Agent, agent=agent)
