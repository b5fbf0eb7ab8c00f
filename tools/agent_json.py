"""Agent JSON as models pass it to tools: an object, or the same written as text."""

from __future__ import annotations

from typing import Any, TypeAlias

from executions.agents.errors import AgentError
from executions.agents.reading import read_agent_json
from executions.agents.validation import Scope
from executions.generator.answers import read_object
from executions.generator.errors import BadDraft
from executions.graph import Graph
from tools.context import ToolContext
from tools.errors import ModelRetry
from tools.permissions import block_rule

AgentJson: TypeAlias = dict[str, Any] | str


def read_agent(data: AgentJson) -> Graph:
    """The graph; raises ModelRetry with what is wrong with the JSON."""
    try:
        return read_agent_json(read_object(data) if isinstance(data, str) else data)
    except (AgentError, BadDraft) as error:
        raise ModelRetry(f"agent_json: {error}") from None


def scope_for(context: ToolContext) -> Scope:
    """What graphs of this session are checked against: the blocks it may use."""
    return Scope(may_use=block_rule(context.permissions))
