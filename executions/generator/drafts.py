"""Reader for agents drawn by a model; common alternative field names are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from executions.agents.agent_json import read_agent_json
from executions.agents.errors import AgentError
from executions.generator.errors import BadDraft
from executions.graph import Graph

WRAPPERS = ("agent_json", "agent", "graph", "workflow")
NODE_NAMES = {
    "block": "block_id",
    "block_name": "block_id",
    "blockId": "block_id",
    "type": "block_id",
    "inputs": "input_default",
    "input": "input_default",
    "data": "input_default",
    "defaults": "input_default",
    "node_id": "id",
}
LINK_NAMES = {
    "source": "source_id",
    "source_node": "source_id",
    "from": "source_id",
    "target": "sink_id",
    "target_id": "sink_id",
    "to": "sink_id",
    "sink": "sink_id",
    "sink_node": "sink_id",
    "source_pin": "source_name",
    "source_output": "source_name",
    "output": "source_name",
    "sink_pin": "sink_name",
    "target_name": "sink_name",
    "target_pin": "sink_name",
    "target_input": "sink_name",
    "input": "sink_name",
}


def read_draft(answer: Mapping[str, Any]) -> Graph:
    """Return the graph of a model's answer; raises BadDraft with what is wrong with it."""
    drawn = unwrap(answer)
    document = {
        **drawn,
        "nodes": [rename(node, NODE_NAMES) for node in listed(drawn.get("nodes"))],
        "links": [rename(link, LINK_NAMES) for link in listed(drawn.get("links", drawn.get("edges", [])))],
    }
    if not document["nodes"]:
        raise BadDraft("The agent has no `nodes`. Answer with the whole agent JSON.")
    try:
        return read_agent_json(document)
    except AgentError as error:
        raise BadDraft(error.message) from None


def unwrap(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    if "nodes" in answer:
        return answer
    return next((answer[name] for name in WRAPPERS if isinstance(answer.get(name), Mapping)), answer)


def listed(value: Any) -> list[Any]:
    """Return the items of a list, or of an object that maps ids to items."""
    if isinstance(value, Mapping):
        return [{"id": key, **item} if isinstance(item, Mapping) else item for key, item in value.items()]
    return list(value) if isinstance(value, list) else []


def rename(part: Any, names: Mapping[str, str]) -> Any:
    """Return the part with our field names; a field that has ours already keeps it."""
    if not isinstance(part, Mapping):
        return part
    renamed = {names[key]: value for key, value in part.items() if key in names and names[key] not in part}
    kept = {key: value for key, value in part.items() if key not in names or names[key] in part}
    return {**kept, **renamed}
