"""edit_agent: change an agent of the library; what is not touched stays as it is."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field, model_validator

from durable import limits
from executions.agents.versions import get_version
from executions.generator.patching import keep_unchanged
from executions.generator.wishes import Wish
from executions.graph import parse_graph
from tools.agent_choice import by_library_id
from tools.agent_json import AgentJson, read_agent
from tools.base import Effect, Reads, ToolArgs, tool
from tools.building import Made, Order, find_made, make, make_of_answer, make_of_json
from tools.building_parts import gather
from tools.built_agents import AgentPreview, AgentSaved, ClarificationNeeded, SuggestedGoal
from tools.gates import guide_read, login_required
from tools.operations.context import OperationContext
from tools.outside import OutsideAnswer
from tools.refusals import as_tool_errors


class Args(ToolArgs):
    agent_id: str = Field(min_length=1, max_length=64, description="Its id in the library.")
    changes: str | None = Field(
        default=None, max_length=limits.MAX_GOAL_CHARACTERS, description="What should be different, in words."
    )
    agent_json: AgentJson | None = Field(
        default=None, description="The whole changed agent, instead of words."
    )
    context: str | None = Field(default=None, max_length=limits.MAX_GOAL_CHARACTERS)
    library_agent_ids: list[str] | None = Field(default=None, max_length=limits.MAX_BUILDING_PARTS)
    save: bool = Field(default=True, description="false: only show it.")

    @model_validator(mode="after")
    def one_way(self) -> Args:
        if bool((self.changes or "").strip()) == bool(self.agent_json):
            raise ValueError("give either changes or agent_json")
        return self


def order_of(args: Args, context: OperationContext) -> Order:
    agent = by_library_id(args.agent_id, context)
    found = gather(args.library_agent_ids or (), context, leave_out=agent)
    with as_tool_errors():
        version = get_version(agent)
    base = replace(parse_graph(version.graph), name=agent.name, description=agent.description)
    return Order(
        wish=Wish(
            goal=(args.changes or "Changed as JSON.").strip(),
            context=args.context or "",
            parts=found.parts,
            base=base,
        ),
        save=args.save,
        hand_over=lambda service, wish, ticket: service.update(wish, ticket),
        agent=agent,
        notes=found.notes,
    )


def receive(args: Args, answer: OutsideAnswer, context: OperationContext) -> Made:
    return make_of_answer(order_of(args, context), answer, context)


def lookup(args: Args, context: OperationContext) -> AgentSaved | None:
    return find_made(context)


@tool(
    effect=Effect.EFFECTFUL,
    long_running=True,
    gates=[login_required, guide_read],
    lookup=lookup,
    receive=receive,
    reads=Reads.PERHAPS,
    holds=False,
)
def edit_agent(
    args: Args, context: OperationContext
) -> AgentSaved | AgentPreview | ClarificationNeeded | SuggestedGoal:
    """Change an agent of the library, by words or by its whole JSON, as a new version of it."""
    order = order_of(args, context)
    if args.agent_json:
        assert order.wish.base is not None
        return make_of_json(order, keep_unchanged(order.wish.base, read_agent(args.agent_json)), context)
    return make(order, context)
