"""ask_question: ask the user questions before continuing."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext


class Question(BaseModel):
    question: str = Field(min_length=1, max_length=1000)
    options: list[str] | None = Field(default=None, max_length=10, description="Answers to choose from.")
    keyword: str | None = Field(default=None, max_length=100, description="Short name of the topic.")


class Args(ToolArgs):
    questions: list[Question] = Field(min_length=1, max_length=10)


class Clarification(ToolResult):
    type: Literal["clarification_needed"] = "clarification_needed"
    questions: list[Question]


@tool(reads=Reads.NOTHING, holds=False)
def ask_question(args: Args, context: ToolContext) -> Clarification:
    """Ask the user one or more questions when something you need is unclear. Then end your turn and wait."""
    count = len(args.questions)
    return Clarification(
        message="One question needs an answer." if count == 1 else f"{count} questions need answers.",
        next_step="The questions are shown to the user. End your answer and wait for theirs.",
        questions=args.questions,
    )
