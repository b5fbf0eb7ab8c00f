"""decompose_goal: show the user a plan for approval."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext


class GoalStep(BaseModel):
    description: str = Field(min_length=1, max_length=500)
    action: str | None = Field(default=None, max_length=100, description="e.g. add_block, connect, test.")
    block_name: str | None = Field(default=None, max_length=100)


class Args(ToolArgs):
    goal: str = Field(min_length=1, max_length=2000)
    steps: list[GoalStep] = Field(min_length=1, max_length=30, description="In order.")


class NumberedStep(GoalStep):
    number: int
    status: Literal["pending"] = "pending"


class Decomposition(ToolResult):
    type: Literal["task_decomposition"] = "task_decomposition"
    goal: str
    steps: list[NumberedStep]
    step_count: int
    requires_approval: bool = True


@tool(reads=Reads.NOTHING, holds=False)
def decompose_goal(args: Args, context: ToolContext) -> Decomposition:
    """Show the user your plan for a goal, step by step, for approval before you build or run anything."""
    steps = [
        NumberedStep(number=number, **step.model_dump()) for number, step in enumerate(args.steps, start=1)
    ]
    return Decomposition(
        message=f"A plan with {len(steps)} step{'' if len(steps) == 1 else 's'}.",
        next_step="The plan is shown to the user. Continue when they approve it.",
        goal=args.goal,
        steps=steps,
        step_count=len(steps),
    )
