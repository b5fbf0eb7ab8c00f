"""Results of the tools that build agents: saved, previewed, questions, or a better goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from executions.agents.repair import AppliedFix
from executions.generator.requests import BetterGoal, Built, ClarifyingQuestions
from executions.graph import graph_to_json
from executions.models import Agent, AgentVersion
from tools.base import ToolResult
from tools.cards import AgentCard, agent_link, brief, brief_inputs

MAX_SHOWN_FIXES = 20
MENTION_SIMILAR = " Mention similar_agents, which may do the same already."


class AgentSaved(ToolResult):
    type: Literal["agent_saved"] = "agent_saved"
    agent_id: str
    library_agent_id: str
    agent_name: str
    version: int
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    node_count: int
    link_count: int
    library_agent_link: str
    agent_page_link: str
    fixes: list[str]
    notes: list[str]
    similar_agents: list[AgentCard]


class AgentProposed(ToolResult):
    """A change of a draft that the person accepts or rejects in the builder."""

    type: Literal["agent_proposed"] = "agent_proposed"
    agent_id: str
    agent_name: str
    node_count: int
    link_count: int
    fixes: list[str]
    notes: list[str]


class AgentPreview(ToolResult):
    type: Literal["agent_preview"] = "agent_preview"
    agent_name: str
    description: str
    agent_json: dict[str, Any]
    node_count: int
    link_count: int
    fixes: list[str]
    notes: list[str]
    similar_agents: list[AgentCard]


class ClarificationNeeded(ToolResult):
    type: Literal["clarification_needed"] = "clarification_needed"
    questions: list[dict[str, Any]]


class SuggestedGoal(ToolResult):
    type: Literal["suggested_goal"] = "suggested_goal"
    suggested_goal: str
    reason: str
    original_goal: str
    goal_type: str


def saved(
    version: AgentVersion,
    *,
    fixes: Sequence[AppliedFix] = (),
    notes: Sequence[str] = (),
    similar: Sequence[AgentCard] = (),
) -> AgentSaved:
    agent, link = version.agent, agent_link(version.agent_id)
    known = f" as version {version.version}" if version.version > 1 else ""
    said = "".join(f" {note}" for note in notes)
    return AgentSaved(
        message=f"The agent {agent.name!r} was saved in the library{known}.{said}",
        next_step=f"Run it with run_agent.{MENTION_SIMILAR if similar else ''}",
        agent_id=str(agent.pk),
        library_agent_id=str(agent.pk),
        agent_name=agent.name,
        version=version.version,
        inputs=brief_inputs(version.input_schema),
        outputs=brief(version.output_schema),
        node_count=len(version.graph["nodes"]),
        link_count=len(version.graph["links"]),
        library_agent_link=link,
        agent_page_link=link,
        fixes=[fix.message for fix in fixes[:MAX_SHOWN_FIXES]],
        notes=list(notes),
        similar_agents=list(similar),
    )


def proposed(agent: Agent, built: Built, notes: Sequence[str]) -> AgentProposed:
    return AgentProposed(
        message=f"The change of {agent.name!r} is shown in the builder. The person accepts or rejects it there.",
        next_step="Say in one sentence what the change does. Do not call again unless something else is asked for.",
        agent_id=str(agent.pk),
        agent_name=agent.name,
        node_count=len(built.graph.nodes),
        link_count=len(built.graph.links),
        fixes=[fix.message for fix in built.fixes[:MAX_SHOWN_FIXES]],
        notes=list(notes),
    )


def preview(built: Built, notes: Sequence[str], *, similar: Sequence[AgentCard] = ()) -> AgentPreview:
    graph = built.graph
    return AgentPreview(
        message=f"This is a preview of the agent {graph.name!r}. It has not been saved.",
        next_step=f"To save it, call again with save=true or with this JSON.{MENTION_SIMILAR if similar else ''}",
        agent_name=graph.name,
        description=graph.description,
        agent_json=graph_to_json(graph),
        node_count=len(graph.nodes),
        link_count=len(graph.links),
        fixes=[fix.message for fix in built.fixes[:MAX_SHOWN_FIXES]],
        notes=list(notes),
        similar_agents=list(similar),
    )


def ask(asked: ClarifyingQuestions) -> ClarificationNeeded:
    count = len(asked.questions)
    one = "one thing is" if count == 1 else f"{count} things are"
    return ClarificationNeeded(
        message=f"Before the agent can be built, {one} missing.",
        next_step="Ask the user, then call again with the answers in `context`.",
        questions=[question.as_json() for question in asked.questions],
    )


def suggest(better: BetterGoal, goal: str) -> SuggestedGoal:
    why = (
        "The goal is too vague."
        if better.kind == "vague"
        else "This cannot be built from the available blocks."
    )
    return SuggestedGoal(
        message=f"{why} {better.reason} Suggested instead: {better.goal}",
        next_step="Ask the user whether the suggested goal is what they want.",
        suggested_goal=better.goal,
        reason=better.reason,
        original_goal=goal,
        goal_type=better.kind,
    )
