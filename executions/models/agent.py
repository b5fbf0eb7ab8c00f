"""Agents: saved graphs with immutable versions, and their listings in the store."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from durable.ids import new_id
from executions.models.fields import OrderedJSON


class Agent(models.Model):
    """A graph in one person's library, its id both the library's and the graph's; its versions say what it does."""

    class Source(models.TextChoices):
        CREATED = "created"
        IMPORTED = "imported"
        GENERATED = "generated"
        STORE = "store"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agents")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    latest_version = models.PositiveIntegerField(
        default=0, help_text="The newest version; 0 before the first."
    )
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.CREATED)
    imported_id = models.CharField(
        max_length=200, blank=True, default="", help_text="The id it had where it came from."
    )
    part_of = models.ForeignKey(
        "self",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="sub_agents",
        help_text="Came with this agent as a sub-agent; not listed by itself.",
    )
    listing = models.ForeignKey(
        "StoreListing", on_delete=models.SET_NULL, null=True, blank=True, related_name="copies"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(
        null=True, blank=True, help_text="Out of the library; its executions still name it."
    )

    class Meta:
        indexes = [models.Index(fields=["user", "-updated_at"], name="executions_agent_recent")]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "listing"],
                condition=Q(deleted_at=None, part_of=None, listing__isnull=False),
                name="executions_one_copy_per_listing",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_removed(self) -> bool:
        """Whether it is out of the library."""
        return self.deleted_at is not None


class AgentVersion(models.Model):
    """One state of an agent's graph. Never changed: a change is a new version."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    graph = OrderedJSON(
        help_text="The agent JSON as it came, unknown fields included; what it came with is in sub_agents."
    )
    input_schema = OrderedJSON(default=dict)
    output_schema = OrderedJSON(default=dict)
    problems = models.JSONField(default=list, help_text="What validation found: code, message, node_id, pin.")
    warnings = models.JSONField(
        default=list, help_text="What does not keep it from running, in the same form."
    )
    sub_agents = models.JSONField(
        default=list, help_text="The agents that came with it: id, version, in their order."
    )
    note = models.CharField(max_length=500, blank=True, default="", help_text="Why there is a new version.")
    outside_sources = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Content from outside that was read before the copilot made it; empty when a person saved it.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "version"], name="executions_one_row_per_version")
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} version {self.version}"

    @property
    def is_valid(self) -> bool:
        return not self.problems

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise TypeError("A version of an agent never changes. Make a new one.")
        super().save(*args, **kwargs)


class StoreListing(models.Model):
    """An agent somebody published, known as `username/slug`."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="listings")
    slug = models.SlugField(max_length=100)
    published = models.ForeignKey(AgentVersion, on_delete=models.RESTRICT, related_name="listings")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    categories = models.JSONField(default=list)
    additions = models.PositiveIntegerField(default=0, help_text="How often it was added to a library.")
    published_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "slug"], name="executions_one_listing_per_slug")
        ]

    def __str__(self) -> str:
        return f"{self.user}/{self.slug}"
