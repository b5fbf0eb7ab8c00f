"""customize_agent: a new agent of one's own that starts from a published one."""

from __future__ import annotations

from pydantic import Field, model_validator

from durable import limits
from executions.agents.exporting import export_version
from executions.agents.reading import read_agent_json
from executions.generator.wishes import Wish
from executions.graph import Graph
from executions.models import AgentVersion
from tools.agent_choice import listing_of
from tools.agent_json import AgentJson, read_agent
from tools.base import Effect, Reads, ToolArgs, tool
from tools.building import Made, Order, find_made, make, make_of_answer
from tools.built_agents import AgentPreview, AgentSaved, ClarificationNeeded, SuggestedGoal
from tools.gates import login_required
from tools.operations.context import OperationContext
from tools.outside import OutsideAnswer


class Args(ToolArgs):
    store_slug: str | None = Field(default=None, max_length=300, description="username/slug to start from.")
    agent_json: AgentJson | None = Field(default=None, description="An agent to start from, instead.")
    modifications: str = Field(
        min_length=1, max_length=limits.MAX_GOAL_CHARACTERS, description="What should be different."
    )
    context: str | None = Field(default=None, max_length=limits.MAX_GOAL_CHARACTERS)
    save: bool = Field(default=True, description="false: only show it.")

    @model_validator(mode="after")
    def one_start(self) -> Args:
        if bool((self.store_slug or "").strip()) == bool(self.agent_json):
            raise ValueError("give either store_slug or agent_json")
        return self


def order_of(args: Args, context: OperationContext) -> Order:
    return Order(
        wish=Wish(goal=args.modifications, context=args.context or "", base=start_of(args)),
        save=args.save,
        hand_over=lambda service, wish, ticket: service.customize(wish, ticket),
    )


def start_of(args: Args) -> Graph:
    """The agent to start from, without anything private of whoever published it."""
    if args.agent_json:
        return read_agent(args.agent_json)
    listing = listing_of(args.store_slug or "")
    version = AgentVersion.objects.select_related("agent", "agent__user").get(pk=listing.published_id)
    return read_agent_json(export_version(version))


def receive(args: Args, answer: OutsideAnswer, context: OperationContext) -> Made:
    return make_of_answer(order_of(args, context), answer, context)


def lookup(args: Args, context: OperationContext) -> AgentSaved | None:
    return find_made(context)


@tool(
    effect=Effect.EFFECTFUL,
    long_running=True,
    gates=[login_required],
    lookup=lookup,
    receive=receive,
    reads=Reads.ALWAYS,
    holds=False,
)
def customize_agent(
    args: Args, context: OperationContext
) -> AgentSaved | AgentPreview | ClarificationNeeded | SuggestedGoal:
    """Make an agent of the user's own out of one of the store, with changes in words."""
    return make(order_of(args, context), context)
