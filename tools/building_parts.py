"""Agents of the library that a new agent may build upon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from durable import limits
from executions.agents.errors import AgentMissing
from executions.agents.library import get_agent, newest_versions
from executions.generator.wishes import Part
from executions.models import Agent, AgentVersion
from tools.context import ToolContext


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What was found, and what is said of what was not."""

    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()


def gather(ids: Sequence[str], context: ToolContext, *, leave_out: Agent | None = None) -> Parts:
    """The agents with these ids, each once; `leave_out` is the one being changed, which cannot be part of itself."""
    agents: dict[str, Agent] = {}
    missing: list[str] = []
    for agent_id in list(dict.fromkeys(ids))[: limits.MAX_BUILDING_PARTS]:
        try:
            agent = get_agent(context.user, agent_id)
        except AgentMissing:
            missing.append(agent_id)
            continue
        if leave_out is None or agent.pk != leave_out.pk:
            agents[str(agent.pk)] = agent
    versions = newest_versions(list(agents.values()))
    parts = tuple(part_of(agent, versions[agent.pk]) for agent in agents.values() if agent.pk in versions)
    notes = (f"Not in the library, so not used: {', '.join(missing)}.",) if missing else ()
    return Parts(parts=parts, notes=notes)


def part_of(agent: Agent, version: AgentVersion) -> Part:
    return Part(
        id=str(agent.pk),
        version=version.version,
        name=agent.name,
        description=agent.description,
        input_schema=version.input_schema,
        output_schema=version.output_schema,
    )
