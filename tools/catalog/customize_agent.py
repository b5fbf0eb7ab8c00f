"""customize_agent: make a new agent from a published one."""

from __future__ import annotations

from pydantic import Field, model_validator

from executions import limits
from executions.agents.agent_export import export_version
from executions.agents.agent_json import read_agent_json
from executions.generator.requests import AgentRequest
from executions.graph import Graph
from executions.models import AgentVersion
from tools.agent_builder import (
    AgentJson,
    BuildRequest,
    BuildResult,
    build_agent,
    building,
    read_agent,
)
from tools.agent_lookup import listing_of
from tools.base import Reads, ToolArgs, tool
from tools.operations.context import OperationContext
from tools.preconditions import login_required


class Args(ToolArgs):
    store_slug: str | None = Field(default=None, max_length=300, description="username/slug to start from.")
    agent_json: AgentJson | None = Field(default=None, description="An agent to start from, instead.")
    modifications: str = Field(
        min_length=1, max_length=limits.MAX_GOAL_CHARACTERS, description="What should be different."
    )
    context: str | None = Field(default=None, max_length=limits.MAX_GOAL_CHARACTERS)
    save: bool = Field(default=True, description="false: only show the agent, do not save it.")

    @model_validator(mode="after")
    def one_start(self) -> Args:
        if bool(self.store_slug) == bool(self.agent_json):
            raise ValueError("give either store_slug or agent_json")
        return self


def build_request(args: Args, context: OperationContext) -> BuildRequest:
    return BuildRequest(
        request=AgentRequest(goal=args.modifications, context=args.context or "", base=start_of(args)),
        save=args.save,
        external_build=lambda service, request, job: service.customize(request, job),
    )


def start_of(args: Args) -> Graph:
    """Return the agent to start from, without private data of its publisher."""
    if args.agent_json:
        return read_agent(args.agent_json)
    listing = listing_of(args.store_slug or "")
    version = AgentVersion.objects.select_related("agent", "agent__user").get(pk=listing.published_id)
    return read_agent_json(export_version(version))


@tool(**building(build_request), gates=[login_required], reads=Reads.ALWAYS)
def customize_agent(args: Args, context: OperationContext) -> BuildResult:
    """Make a new agent for the user from one in the store, with the changes you describe."""
    return build_agent(build_request(args, context), context)
