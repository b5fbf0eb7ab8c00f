"""Decomposition of a goal into steps, or into questions or a better goal."""

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


def decompose(request: AgentRequest, model: TextModel, scope: Scope) -> Plan:
    """Return the model's plan for the goal; an unreadable answer is an empty plan."""
    try:
        return read_plan(read_object(model.ask(ask_to_decompose(request, scope))))
    except BadDraft:
        return Steps(steps=())


def read_plan(answer: Mapping[str, Any]) -> Plan:
    """Return the plan of an answer, by our model or an external generator."""
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
    whole = tuple(steps[: limits.MAX_GOAL_STEPS]) if isinstance(steps, list) else ()
    return Steps(steps=texts(steps, most=limits.MAX_GOAL_STEPS, longest=500), whole=whole)


def read_questions(answer: Mapping[str, Any]) -> ClarifyingQuestions | None:
    """Return the questions of an answer; None if it has none."""
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
