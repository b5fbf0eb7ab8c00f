"""create_agent: build a new agent from words, or save one that was drawn as JSON."""

from __future__ import annotations

from pydantic import Field, model_validator

from durable import limits
from executions.generator.wishes import Wish
from executions.models import Agent
from tools.agent_json import AgentJson, read_agent
from tools.base import Effect, Reads, ToolArgs, tool
from tools.building import Made, Order, find_made, make, make_of_answer, make_of_json, steps_or_result
from tools.building_parts import gather
from tools.built_agents import AgentPreview, AgentSaved, ClarificationNeeded, SuggestedGoal
from tools.gates import guide_read, login_required
from tools.operations.context import OperationContext
from tools.outside import OutsideAnswer


class Args(ToolArgs):
    description: str | None = Field(
        default=None, max_length=limits.MAX_GOAL_CHARACTERS, description="What the agent should do."
    )
    agent_json: AgentJson | None = Field(
        default=None, description="The whole agent, instead of a description."
    )
    context: str | None = Field(
        default=None,
        max_length=limits.MAX_GOAL_CHARACTERS,
        description="What else is known: answers to questions.",
    )
    library_agent_ids: list[str] | None = Field(
        default=None, max_length=limits.MAX_BUILDING_PARTS, description="Agents it may build upon."
    )
    save: bool = Field(default=True, description="false: only show it.")

    @model_validator(mode="after")
    def one_way(self) -> Args:
        if bool((self.description or "").strip()) == bool(self.agent_json):
            raise ValueError("give either description or agent_json")
        return self


def order_of(args: Args, context: OperationContext) -> Order:
    found = gather(args.library_agent_ids or (), context)
    return Order(
        wish=Wish(goal=(args.description or "").strip(), context=args.context or "", parts=found.parts),
        save=args.save,
        hand_over=steps_or_result,
        source=Agent.Source.CREATED if args.agent_json else Agent.Source.GENERATED,
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
def create_agent(
    args: Args, context: OperationContext
) -> AgentSaved | AgentPreview | ClarificationNeeded | SuggestedGoal:
    """Build a new agent from a description, or save one given as JSON. It may come back with questions."""
    if args.agent_json:
        return make_of_json(order_of(args, context), read_agent(args.agent_json), context)
    return make(order_of(args, context), context)
