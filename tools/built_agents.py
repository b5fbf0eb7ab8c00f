"""What building an agent answers: saved, shown, asked back, or a better goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from executions.agents.fixing import Fix
from executions.generator.wishes import BetterGoal, Built, Questions
from executions.graph import graph_to_json
from executions.models import AgentVersion
from tools.base import ToolResult
from tools.cards import agent_link, brief, brief_inputs

MAX_SHOWN_FIXES = 20


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


class AgentPreview(ToolResult):
    type: Literal["agent_preview"] = "agent_preview"
    agent_name: str
    description: str
    agent_json: dict[str, Any]
    node_count: int
    link_count: int
    fixes: list[str]
    notes: list[str]


class ClarificationNeeded(ToolResult):
    type: Literal["clarification_needed"] = "clarification_needed"
    questions: list[dict[str, Any]]


class SuggestedGoal(ToolResult):
    type: Literal["suggested_goal"] = "suggested_goal"
    suggested_goal: str
    reason: str
    original_goal: str
    goal_type: str


def saved(version: AgentVersion, *, fixes: Sequence[Fix] = (), notes: Sequence[str] = ()) -> AgentSaved:
    agent, link = version.agent, agent_link(version.agent_id)
    known = f" as version {version.version}" if version.version > 1 else ""
    said = "".join(f" {note}" for note in notes)
    return AgentSaved(
        message=f"The agent {agent.name!r} is saved in the library{known}. run_agent runs it.{said}",
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
    )


def preview(built: Built, notes: Sequence[str]) -> AgentPreview:
    graph = built.graph
    return AgentPreview(
        message=f"This is the agent {graph.name!r}. It is not saved: call again with save=true, or with this JSON.",
        agent_name=graph.name,
        description=graph.description,
        agent_json=graph_to_json(graph),
        node_count=len(graph.nodes),
        link_count=len(graph.links),
        fixes=[fix.message for fix in built.fixes[:MAX_SHOWN_FIXES]],
        notes=list(notes),
    )


def ask(asked: Questions) -> ClarificationNeeded:
    count = len(asked.questions)
    one = "one thing is" if count == 1 else f"{count} things are"
    return ClarificationNeeded(
        message=f"Before the agent can be built, {one} missing. Ask the user, then call again with the answers "
        "in `context`.",
        questions=[question.as_json() for question in asked.questions],
    )


def suggest(better: BetterGoal, goal: str) -> SuggestedGoal:
    why = (
        "The goal says too little."
        if better.kind == "vague"
        else "This cannot be built from the blocks there are."
    )
    return SuggestedGoal(
        message=f"{why} {better.reason} Ask the user whether this would do: {better.goal}",
        suggested_goal=better.goal,
        reason=better.reason,
        original_goal=goal,
        goal_type=better.kind,
    )
