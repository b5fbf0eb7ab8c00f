"""ask_question: put questions to the person before going on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext


class Question(BaseModel):
    question: str = Field(min_length=1, max_length=1000)
    options: list[str] | None = Field(default=None, max_length=10, description="Answers to choose from.")
    keyword: str | None = Field(default=None, max_length=100, description="Short name of what is asked.")


class Args(ToolArgs):
    questions: list[Question] = Field(min_length=1, max_length=10)


class Clarification(ToolResult):
    type: Literal["clarification_needed"] = "clarification_needed"
    questions: list[Question]


@tool(reads=Reads.NOTHING, holds=False)
def ask_question(args: Args, context: ToolContext) -> Clarification:
    """Ask the user one or more questions when something needed is unclear. Afterwards end your turn and wait."""
    count = len(args.questions)
    asked = "The question is" if count == 1 else f"The {count} questions are"
    return Clarification(message=f"{asked} shown to the user. Wait for the answer.", questions=args.questions)
