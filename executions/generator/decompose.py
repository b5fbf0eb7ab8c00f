"""Taking a goal apart: into steps, or into what must be asked or suggested first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executions import limits
from executions.agents.validation import Scope
from executions.generator.errors import BadDraft
from executions.generator.json_answers import read_object, texts
from executions.generator.model import TextModel
from executions.generator.prompts import ask_to_decompose
from executions.generator.requests import (
    AgentRequest,
    BetterGoal,
    ClarifyingQuestion,
    ClarifyingQuestions,
    Plan,
    Steps,
)

GOAL_KINDS = {"vague_goal": "vague", "unachievable_goal": "unachievable"}


def decompose(wish: AgentRequest, asker: TextModel, scope: Scope) -> Plan:
    """What the model says to the goal; an answer that cannot be read is no reason to stop, only no plan."""
    try:
        return read_plan(read_object(asker.ask(ask_to_decompose(wish, scope))))
    except BadDraft:
        return Steps(steps=())


def read_plan(answer: Mapping[str, Any]) -> Plan:
    """The plan in an answer, ours or an outside generator's."""
    kind = answer.get("type")
    if questions := read_questions(answer):
        return questions
    goal = answer.get("suggested_goal")
    if kind in GOAL_KINDS and isinstance(goal, str) and goal.strip():
        reason = answer.get("reason") or answer.get("error") or ""
        return BetterGoal(
            goal=goal.strip()[: limits.MAX_GOAL_CHARACTERS], reason=str(reason)[:1000], kind=GOAL_KINDS[kind]
        )
    steps = answer.get("steps", answer.get("instructions"))
    return Steps(steps=texts(steps, most=limits.MAX_GOAL_STEPS, longest=500))


def read_questions(answer: Mapping[str, Any]) -> ClarifyingQuestions | None:
    """The questions of an answer that asks some; None for any other."""
    rows = answer.get("questions")
    if answer.get("type") not in ("clarifying_questions", "clarification_needed") or not isinstance(
        rows, list
    ):
        return None
    found = [read_question(row) for row in rows[: limits.MAX_QUESTIONS]]
    asked = tuple(question for question in found if question.question)
    return ClarifyingQuestions(questions=asked) if asked else None


def read_question(row: Any) -> ClarifyingQuestion:
    if not isinstance(row, Mapping):
        return ClarifyingQuestion(question=str(row)[:1000])
    options = row.get("options")
    return ClarifyingQuestion(
        question=str(row.get("question") or "")[:1000],
        keyword=str(row.get("keyword") or "")[:100],
        options=tuple(str(option)[:200] for option in options[:10]) if isinstance(options, list) else (),
    )
