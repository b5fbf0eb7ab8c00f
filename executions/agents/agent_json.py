"""Reader for untrusted agent JSON: checks size and depth before it parses."""

from __future__ import annotations

import math
from collections.abc import Mapping

from blocks.schema import JSON
from durable import storable
from executions import limits
from executions.agents.errors import GraphTooLarge, NotAGraph
from executions.agents.secrets import texts_in
from executions.agents.sub_agents import flatten
from executions.graph import Graph, parse_graph

LARGEST_NUMBER = 2**63
WRAPPERS = ("graph", "agent_json")


def read_agent_json(data: JSON) -> Graph:
    """Return the graph of a document from outside; raises NotAGraph or GraphTooLarge."""
    document = unwrap(data)
    check_length(document)
    measure(document)
    try:
        document = storable.json_value(document)
    except ValueError as error:
        raise NotAGraph(f"The agent JSON cannot be stored: {error}.") from None
    graph = parse_graph(document)
    check_counts(graph)
    for one in (graph, *flatten(graph)):
        check_texts(one)
    return graph


def unwrap(data: JSON) -> JSON:
    """Return the graph without the envelope some clients send it in."""
    if isinstance(data, Mapping) and "nodes" not in data:
        return next((data[name] for name in WRAPPERS if isinstance(data.get(name), Mapping)), data)
    return data


def check_length(data: JSON) -> None:
    """Refuse a far too long document before it is inspected."""
    for name, most in (("nodes", limits.MAX_AGENT_NODES), ("links", limits.MAX_AGENT_LINKS)):
        items = data.get(name) if isinstance(data, Mapping) else None
        if isinstance(items, list) and len(items) > most:
            raise too_many(len(items), most, name)


def measure(data: JSON) -> None:
    """Check depth, size and numbers in one walk, level by level."""
    level: list[JSON] = [data]
    depth = characters = 0
    while level:
        following: list[JSON] = []
        for item in level:
            characters += 1
            if isinstance(item, str):
                characters += len(item)
            elif isinstance(item, Mapping):
                characters += sum(len(name) for name in item if isinstance(name, str))
                following.extend(item.values())
            elif isinstance(item, list):
                following.extend(item)
            else:
                check_number(item)
        if characters > limits.MAX_AGENT_BYTES:
            raise GraphTooLarge(f"The agent JSON is larger than {limits.MAX_AGENT_BYTES // 1024**2} MB.")
        depth += 1
        if depth > limits.MAX_JSON_DEPTH:
            raise NotAGraph(f"The agent JSON is nested deeper than {limits.MAX_JSON_DEPTH} levels.")
        level = following


def check_number(value: JSON) -> None:
    """Raise NotAGraph for a number that not every database can store: integers have 64 bits."""
    if isinstance(value, float) and not math.isfinite(value):
        raise NotAGraph(
            "The agent JSON contains NaN or infinity, which are not valid JSON. Use a number or null."
        )
    if isinstance(value, int | float) and abs(value) >= LARGEST_NUMBER:
        raise NotAGraph("The agent JSON contains a number of more than 64 bits. Write it as text.")


def check_counts(graph: Graph) -> None:
    graphs = (graph, *flatten(graph))
    nodes = sum(len(one.nodes) for one in graphs)
    links = sum(len(one.links) for one in graphs)
    for count, most, what in (
        (nodes, limits.MAX_AGENT_NODES, "nodes"),
        (links, limits.MAX_AGENT_LINKS, "links"),
        (len(graphs) - 1, limits.MAX_SUB_AGENTS, "sub-agents"),
    ):
        if count > most:
            raise too_many(count, most, what)


def too_many(count: int, most: int, what: str) -> GraphTooLarge:
    return GraphTooLarge(
        f"The agent has {count:,} {what}; at most {most:,} are allowed. Split it into several."
    )


def check_texts(graph: Graph) -> None:
    most = limits.MAX_AGENT_TEXT_CHARACTERS
    for node in graph.nodes:
        for pin, value in node.input_default.items():
            if any(len(text) > most for text in texts_in(value)):
                raise GraphTooLarge(
                    f"The value of {pin[:80]!r} on the node {node.id[:60]!r} has more than {most:,} characters. "
                    "Store it in a workspace file and refer to that."
                )
