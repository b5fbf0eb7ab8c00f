"""add_understanding: remember facts about the user and their business."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from boundary.taint import in_words
from tools.base import Effect, Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.models.understanding import Facts, Understanding
from tools.preconditions import login_required

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=20)]


class Args(ToolArgs):
    user_name: Text | None = None
    job_title: Text | None = None
    business_name: Text | None = None
    industry: Text | None = None
    business_size: Text | None = None
    workflows: Texts | None = Field(default=None, description="What they do regularly.")
    pain_points: Texts | None = None
    automation_goals: Texts | None = None
    software: Texts | None = Field(default=None, description="Programs and services they use.")
    notes: Texts | None = Field(default=None, description="Anything else worth remembering.")

    @model_validator(mode="after")
    def says_something(self) -> Args:
        if not self.model_dump(exclude_none=True):
            raise ValueError("Give at least one fact.")
        return self


class UnderstandingUpdated(ToolResult):
    type: Literal["understanding_updated"] = "understanding_updated"
    updated_fields: list[str]
    current_understanding: Facts


def origin_of(context: ToolContext) -> str:
    """Describe the origin of facts from a conversation that had read third-party content; empty for others."""
    sources = in_words(context.outside_sources)
    return f"approved by the person after content from {sources} was read" if sources else ""


@tool(effect=Effect.IDEMPOTENT, gates=[login_required], reads=Reads.NOTHING, holds=True)
def add_understanding(args: Args, context: ToolContext) -> UnderstandingUpdated:
    """Remember facts the user told you about themselves or their business. Texts are replaced, lists extended."""
    facts: Facts = args.model_dump(exclude_none=True)
    known = Understanding.add(context.user.pk, facts, origin=origin_of(context))
    return UnderstandingUpdated(
        message="Remembered.", updated_fields=sorted(facts), current_understanding=known
    )
