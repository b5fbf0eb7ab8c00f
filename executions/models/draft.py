"""Drafts of agents: the graph as it is edited in the builder, and who has it open."""

from __future__ import annotations

from django.db import models

from durable.ids import new_id
from executions.models.agent import Agent
from executions.models.fields import OrderedJSON


class AgentDraft(models.Model):
    """The unpublished graph of an agent; every save raises `revision`, which the next save must name."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.OneToOneField(Agent, on_delete=models.CASCADE, related_name="draft")
    graph = OrderedJSON(help_text="Agent JSON, unknown fields included; it need not be able to run.")
    revision = models.PositiveIntegerField(default=0, help_text="Raised by every save; 0 before the first.")
    base_version = models.PositiveIntegerField(help_text="The version that the draft is a change of.")
    pinned = OrderedJSON(
        default=dict, help_text="Outputs by node id that test runs use instead of running the node."
    )
    proposal = OrderedJSON(
        null=True,
        default=None,
        help_text="A change that the copilot proposes: graph, base, summary, key; null: none.",
    )
    session_id = models.UUIDField(
        null=True, blank=True, help_text="The conversation beside the canvas; its edits become proposals."
    )
    save_id = models.CharField(
        max_length=64, blank=True, default="", help_text="Key of the last save: repeated, it is the same one."
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [models.Index(fields=["session_id"], name="executions_draft_of_session")]

    def __str__(self) -> str:
        return f"draft of {self.agent_id}, revision {self.revision}"


class DraftEditor(models.Model):
    """One browser tab that has a draft open."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="editors")
    client_id = models.CharField(max_length=64)
    device = models.CharField(max_length=100, blank=True, default="", help_text="Browser and system.")
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "client_id"], name="executions_one_editor_per_tab")
        ]

    def __str__(self) -> str:
        return f"{self.client_id} at {self.agent_id}"
