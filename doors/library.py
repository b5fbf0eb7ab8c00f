"""The agents of a person's library by the names that programs call them by."""

from __future__ import annotations

from django.utils.text import slugify

from accounts.models import User
from doors import limits
from executions.models import Agent

SHORT_ID_CHARACTERS = 12


def agents_by_slug(user: User) -> dict[str, Agent]:
    """Return the person's agents by slug; where two have the same, the later ones carry part of their id."""
    rows = Agent.objects.filter(user=user, deleted_at=None, part_of=None, latest_version__gt=0)
    found: dict[str, Agent] = {}
    for agent in rows.order_by("created_at", "id")[: limits.MAX_LISTED_AGENTS]:
        short_id = agent.pk.hex[-SHORT_ID_CHARACTERS:]
        slug = slugify(agent.name)[: limits.MAX_SLUG_CHARACTERS] or short_id
        found[slug if slug not in found else f"{slug}-{short_id}"] = agent
    return found
