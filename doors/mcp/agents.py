"""Agents of the library as tools: a call starts an execution, and its outputs are the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from doors.callers import Caller
from doors.library import agents_by_slug
from doors.mcp import repeats
from doors.mcp.outcomes import StartedWork
from doors.mcp.providers import McpCall, McpTool, Provider
from executions.agents.library import newest_versions
from executions.models import Agent, AgentVersion
from executions.start import ExecutionRequest, by_client_id, start

PREFIX = "agent__"
MODEL = "agent/"  # how the limits of a key name an agent among the models
ANNOTATIONS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
SHOWN = ("type", "title", "description", "default", "enum", "items", "format", "minimum", "maximum", "anyOf")
RUN_SCHEMA: dict[str, Any] = {
    "execution_id": {"type": "string", "description": "For get_execution."},
    "status": {
        "type": "string",
        "enum": ["QUEUED", "RUNNING", "REVIEW", "COMPLETED", "FAILED", "TERMINATED"],
    },
    "message": {"type": "string", "description": "What happened, and what to do."},
    "url": {"type": "string", "description": "Where a person sees the run."},
}


class AgentProvider(Provider):
    """Offers each agent that the key may run."""

    def tools(self, caller: Caller) -> Iterable[McpTool]:
        allowed = {
            slug: agent for slug, agent in agents_by_slug(caller.user).items() if may_run(caller, slug)
        }
        versions = newest_versions(list(allowed.values()))
        for slug, agent in allowed.items():
            if version := versions.get(agent.pk):
                yield tool_of(slug, agent, version)

    def tool(self, caller: Caller, name: str) -> McpTool | None:
        slug = name.removeprefix(PREFIX)
        if slug == name or not may_run(caller, slug):
            return None
        agent = agents_by_slug(caller.user).get(slug)
        version = newest_versions([agent]).get(agent.pk) if agent else None
        return tool_of(slug, agent, version) if agent and version else None


def may_run(caller: Caller, slug: str) -> bool:
    return caller.may_use_model(f"{MODEL}{slug}") and caller.may_use_tool(f"{PREFIX}{slug}")


def tool_of(slug: str, agent: Agent, version: AgentVersion) -> McpTool:
    name = f"{PREFIX}{slug}"
    return McpTool(
        name=name,
        title=agent.name,
        description=agent.description or f"Run the agent {agent.name}.",
        input_schema=input_schema(version.input_schema),
        output_schema=output_schema(version.output_schema),
        annotations=ANNOTATIONS,
        call=lambda call: run(call, name, agent),
    )


def run(call: McpCall, name: str, agent: Agent) -> StartedWork:
    """Start the agent, or join the execution that an earlier try of the call has started."""
    identity = repeats.identify(call, name)
    found = by_client_id(call.caller.user, identity.client_id)
    if found is not None and not identity.is_chosen and not repeats.is_lost(found):
        repeats.release(found)
        found = None
    if found is not None:
        return StartedWork(row=found)
    call.caller.check_budget()
    request = ExecutionRequest(client_id=identity.client_id)
    started = start(call.caller.user, agent, dict(call.arguments), request)
    return StartedWork(row=started.execution, is_new=started.created)


# --- schemas --------------------------------------------------------------------------------------


def input_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the agent's own inputs, without what only our forms need."""
    properties = {name: plain(field) for name, field in (schema.get("properties") or {}).items()}
    return {"type": "object", "properties": properties, "required": list(schema.get("required") or ())}


def output_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a run: its id and status, and the agent's own outputs when it has ended."""
    properties = {name: output_field(field) for name, field in (schema.get("properties") or {}).items()}
    outputs = {"type": "object", "description": "The agent's outputs.", "properties": properties}
    return {
        "type": "object",
        "properties": RUN_SCHEMA | {"outputs": outputs},
        "required": ["execution_id", "status"],
    }


def output_field(field: Any) -> dict[str, Any]:
    """Return the schema of an output: one value, or a list if the agent gave several.

    The last choice takes anything: what a block gives may differ from what it declares, and a client that validates
    must not lose the result of a run for that.
    """
    one = plain(field)
    about: dict[str, Any] = {name: one.pop(name) for name in ("title", "description") if name in one}
    return about | {"anyOf": [one, {"type": "array", "items": one}, {}]} if one else about


def plain(field: Any) -> dict[str, Any]:
    return {name: field[name] for name in SHOWN if name in field} if isinstance(field, dict) else {}
