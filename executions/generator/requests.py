"""Requests to the generator and their results: an agent, questions, or a better goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from executions.agents.repair import AppliedFix
from executions.agents.validation import ValidationReport
from executions.graph import Graph


@dataclass(frozen=True, kw_only=True)
class ReusableAgent:
    """A saved agent that the new one may run."""

    id: str
    version: int
    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {
            "graph_id": self.id,
            "graph_version": self.version,
            "name": self.name,
            "description": self.description[:300],
            "input_schema": dict(self.input_schema),
            "output_schema": dict(self.output_schema),
        }


@dataclass(frozen=True, kw_only=True)
class AgentRequest:
    """A goal in words; with `base`, a change of that graph."""

    goal: str
    context: str = ""
    parts: tuple[ReusableAgent, ...] = ()
    base: Graph | None = None


@dataclass(frozen=True, kw_only=True)
class ClarifyingQuestion:
    """A question the user must answer before the agent can be built."""

    question: str
    keyword: str = ""
    options: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"question": self.question, "keyword": self.keyword}
        return {**shown, "options": list(self.options)} if self.options else shown


@dataclass(frozen=True, kw_only=True)
class ClarifyingQuestions:
    """The goal lacks information."""

    questions: tuple[ClarifyingQuestion, ...]


@dataclass(frozen=True, kw_only=True)
class BetterGoal:
    """A suggestion in place of a goal that is vague or cannot be reached."""

    goal: str
    reason: str
    kind: str  # vague, unachievable


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The goal as a list of steps: in words, and whole as an external generator gave them."""

    steps: tuple[str, ...]
    whole: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Built:
    """A graph that can run, with its repairs."""

    graph: Graph
    report: ValidationReport
    fixes: tuple[AppliedFix, ...] = ()
    rounds: int = 0  # of repair by the model
    notes: tuple[str, ...] = field(default=())


Plan: TypeAlias = Steps | ClarifyingQuestions | BetterGoal
Result: TypeAlias = Built | ClarifyingQuestions | BetterGoal
ReportProgress: TypeAlias = Callable[[float, str], None]
