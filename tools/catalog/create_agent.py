"""create_agent: build a new agent from a description, or save one given as JSON."""

from __future__ import annotations

from pydantic import Field, model_validator

from executions import limits as executions_limits
from executions.generator.requests import AgentRequest
from executions.models import Agent
from tools import limits
from tools.agent_builder import (
    AgentJson,
    BuildRequest,
    BuildResult,
    build_agent,
    build_from_json,
    building,
    decompose_and_generate,
    read_agent,
)
from tools.agent_lookup import SimilarAgents, find_parts, find_similar
from tools.base import Reads, ToolArgs, tool
from tools.operations.context import OperationContext
from tools.preconditions import guide_read, login_required


class Args(ToolArgs):
    description: str | None = Field(
        default=None,
        max_length=executions_limits.MAX_GOAL_CHARACTERS,
        description="What the agent should do.",
    )
    agent_json: AgentJson | None = Field(
        default=None, description="The whole agent, instead of a description."
    )
    context: str | None = Field(
        default=None,
        max_length=executions_limits.MAX_GOAL_CHARACTERS,
        description="Further information, such as answers to questions.",
    )
    library_agent_ids: list[str] | None = Field(
        default=None, max_length=limits.MAX_BUILDING_PARTS, description="Library agents it may use as parts."
    )
    save: bool = Field(default=True, description="false: only show the agent, do not save it.")

    @model_validator(mode="after")
    def one_way(self) -> Args:
        if bool(self.description) == bool(self.agent_json):
            raise ValueError("give either description or agent_json")
        return self


def build_request(args: Args, context: OperationContext) -> BuildRequest:
    similar = find_similar(args.description, context) if args.description else SimilarAgents()
    ids = args.library_agent_ids
    found = find_parts([str(agent.pk) for agent in similar.library] if ids is None else ids, context)
    return BuildRequest(
        request=AgentRequest(goal=args.description or "", context=args.context or "", parts=found.parts),
        save=args.save,
        external_build=decompose_and_generate,
        source=Agent.Source.CREATED if args.agent_json else Agent.Source.GENERATED,
        notes=found.notes,
        similar=similar,
    )


@tool(**building(build_request), gates=[login_required, guide_read], reads=Reads.PERHAPS)
def create_agent(args: Args, context: OperationContext) -> BuildResult:
    """Build a new agent from a description, or save one given as JSON. The result may be questions to the user.

    Call get_agent_building_guide first, and search with find_library_agent and find_agent: one may exist already.
    """
    if args.agent_json:
        return build_from_json(build_request(args, context), read_agent(args.agent_json), context)
    return build_agent(build_request(args, context), context)
