"""edit_agent: save a changed version of a library agent."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field, model_validator

from executions import limits as executions_limits
from executions.agents.versions import get_version
from executions.drafts.proposals import draft_of_session
from executions.generator.patch import keep_unchanged
from executions.generator.requests import AgentRequest
from executions.graph import parse_graph
from tools import limits
from tools.agent_builder import (
    AgentJson,
    BuildRequest,
    BuildResult,
    build_agent,
    build_from_json,
    building,
    read_agent,
)
from tools.agent_lookup import by_library_id, find_parts
from tools.base import Reads, ToolArgs, tool
from tools.errors import as_tool_errors
from tools.operations.context import OperationContext
from tools.preconditions import guide_read, login_required


class Args(ToolArgs):
    agent_id: str = Field(min_length=1, max_length=64, description="Its id in the library.")
    changes: str | None = Field(
        default=None,
        max_length=executions_limits.MAX_GOAL_CHARACTERS,
        description="What should change, in words.",
    )
    agent_json: AgentJson | None = Field(
        default=None, description="The whole changed agent, instead of changes."
    )
    context: str | None = Field(default=None, max_length=executions_limits.MAX_GOAL_CHARACTERS)
    library_agent_ids: list[str] | None = Field(default=None, max_length=limits.MAX_BUILDING_PARTS)
    save: bool = Field(default=True, description="false: only show the agent, do not save it.")

    @model_validator(mode="after")
    def one_way(self) -> Args:
        if bool(self.changes) == bool(self.agent_json):
            raise ValueError("give either changes or agent_json")
        return self


def build_request(args: Args, context: OperationContext) -> BuildRequest:
    agent = by_library_id(args.agent_id, context)
    found = find_parts(args.library_agent_ids or (), context, leave_out=agent)
    draft = draft_of_session(agent, context.session_id)
    with as_tool_errors():
        graph = draft.graph if draft else get_version(agent).graph
    base = replace(parse_graph(graph), name=agent.name, description=agent.description)
    return BuildRequest(
        request=AgentRequest(
            goal=args.changes or "Changed as JSON.",
            context=args.context or "",
            parts=found.parts,
            base=base,
        ),
        save=args.save,
        external_build=lambda service, request, job: service.update(request, job),
        agent=agent,
        is_proposal=draft is not None,
        notes=found.notes,
    )


@tool(**building(build_request), gates=[login_required, guide_read], reads=Reads.PERHAPS)
def edit_agent(args: Args, context: OperationContext) -> BuildResult:
    """Save a new version of a library agent, from a description of the changes or from its whole JSON.

    Call get_agent_building_guide first.
    """
    order = build_request(args, context)
    if args.agent_json:
        assert order.request.base is not None
        return build_from_json(
            order, keep_unchanged(order.request.base, read_agent(args.agent_json)), context
        )
    return build_agent(order, context)
