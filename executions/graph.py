"""Graphs: the typed nodes and links of an agent, parsed from agent JSON and serialised to it.

Unknown fields are kept in `extra`, so that a graph survives a round trip unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from blocks.errors import InputError
from blocks.pins import PinPath, parse_pin
from executions.agents.errors import NotAGraph

JSON = Any
Part = TypeVar("Part")
TOOLS_PIN = "tools"
TOOLS_PREFIX = "tools_^_"


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link from a pin of one node to a pin of another; a static one keeps its value."""

    id: str
    source_id: str
    source_name: str
    sink_id: str
    sink_name: str
    is_static: bool = False
    extra: Mapping[str, JSON] = field(default_factory=dict)

    @cached_property
    def source(self) -> PinPath:
        """The parsed source pin; a malformed name counts as one pin."""
        return split_pin(self.source_name)

    @cached_property
    def sink(self) -> PinPath:
        """The parsed sink pin; a malformed name counts as one pin."""
        return split_pin(self.sink_name)

    @property
    def is_tool_link(self) -> bool:
        """Whether it starts at the `tools` pin of an orchestrator; such a link is routed by its sink."""
        return self.source_name == TOOLS_PIN or self.source_name.startswith(TOOLS_PREFIX)


@dataclass(frozen=True, kw_only=True)
class Node:
    """One use of a block, with the values of the pins that are not linked."""

    id: str
    block_id: str
    input_default: Mapping[str, JSON] = field(default_factory=dict)
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    extra: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The nodes and links of one agent, and its sub-graphs."""

    id: str = ""
    version: int = 1
    is_active: bool = True
    name: str = ""
    description: str = ""
    nodes: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()
    sub_graphs: tuple[Graph, ...] = ()
    extra: Mapping[str, JSON] = field(default_factory=dict)

    @cached_property
    def nodes_by_id(self) -> Mapping[str, Node]:
        """The nodes by id; the first of nodes that share one."""
        found: dict[str, Node] = {}
        for node in self.nodes:
            found.setdefault(node.id, node)
        return found

    @cached_property
    def _incoming(self) -> Mapping[str, tuple[Link, ...]]:
        return group_links(self.links, lambda link: link.sink_id)

    @cached_property
    def _outgoing(self) -> Mapping[str, tuple[Link, ...]]:
        return group_links(self.links, lambda link: link.source_id)

    def node(self, node_id: str) -> Node | None:
        return self.nodes_by_id.get(node_id)

    def links_into(self, node_id: str) -> tuple[Link, ...]:
        """Return the links that end at a node, in graph order."""
        return self._incoming.get(node_id, ())

    def links_from(self, node_id: str) -> tuple[Link, ...]:
        """Return the links that start at a node, in graph order."""
        return self._outgoing.get(node_id, ())


def split_pin(name: str) -> PinPath:
    """Parse `values_#_k`; a malformed nested name counts as one pin, and validation reports it."""
    try:
        return parse_pin(name)
    except InputError:
        return PinPath(pin=name, steps=())


def group_links(links: Sequence[Link], key: Callable[[Link], str]) -> dict[str, tuple[Link, ...]]:
    groups: dict[str, list[Link]] = {}
    for link in links:
        groups.setdefault(key(link), []).append(link)
    return {name: tuple(group) for name, group in groups.items()}


# --- reading ------------------------------------------------------------------------------------

GRAPH_FIELDS = frozenset(
    {"id", "version", "is_active", "name", "description", "nodes", "links", "sub_graphs"}
)
NODE_FIELDS = frozenset({"id", "block_id", "input_default", "metadata"})
LINK_FIELDS = frozenset({"id", "source_id", "source_name", "sink_id", "sink_name", "is_static"})
MAX_NESTED_GRAPHS = 10
LONGEST_NUMBER = 10**18


def parse_graph(data: JSON) -> Graph:
    """Return the graph of agent JSON; missing fields are empty. Raises NotAGraph."""
    return _read_graph(data, "The agent", depth=0)


def _read_graph(data: JSON, place: str, *, depth: int) -> Graph:
    if not isinstance(data, Mapping):
        raise NotAGraph(f"{place} is {_kind(data)}. Give an object with a list of `nodes` and of `links`.")
    if not isinstance(data.get("nodes"), list):
        raise NotAGraph(
            f"{place} has no list of `nodes`. Give an object with a list of `nodes` and of `links`."
        )
    if depth > MAX_NESTED_GRAPHS:
        raise NotAGraph(
            f"{place} has sub_graphs nested deeper than {MAX_NESTED_GRAPHS} levels. List them flat."
        )
    subs = data.get("sub_graphs")
    return Graph(
        id=_text(data.get("id"), f"{place}: id"),
        version=_whole_number(data.get("version"), f"{place}: version"),
        is_active=data.get("is_active") is not False,
        name=_text(data.get("name"), f"{place}: name"),
        description=_text(data.get("description"), f"{place}: description"),
        nodes=_read_list(data["nodes"], f"{place}: nodes", _read_node),
        links=_read_list(_links_in(data), f"{place}: links", _read_link),
        sub_graphs=_read_list(
            subs, f"{place}: sub_graphs", lambda sub, at: _read_graph(sub, at, depth=depth + 1)
        ),
        extra=_extra(data, GRAPH_FIELDS),
    )


def _links_in(data: Mapping[str, JSON]) -> JSON:
    """Return the list of links, or those the nodes carry if there is none."""
    if data.get("links") is not None:
        return data["links"]
    kept = [node.get("output_links") for node in data["nodes"] if isinstance(node, Mapping)]
    return [link for links in kept if isinstance(links, list) for link in links]


def _read_node(data: JSON, place: str) -> Node:
    given = _object(data, place)
    return Node(
        id=_text(given.get("id"), f"{place}.id"),
        block_id=_text(given.get("block_id"), f"{place}.block_id"),
        input_default=_object(given.get("input_default") or {}, f"{place}.input_default"),
        metadata=_object(given.get("metadata") or {}, f"{place}.metadata"),
        extra=_extra(given, NODE_FIELDS),
    )


def _read_link(data: JSON, place: str) -> Link:
    given = _object(data, place)
    return Link(
        id=_text(given.get("id"), f"{place}.id"),
        source_id=_text(given.get("source_id"), f"{place}.source_id"),
        source_name=_text(given.get("source_name"), f"{place}.source_name"),
        sink_id=_text(given.get("sink_id"), f"{place}.sink_id"),
        sink_name=_text(given.get("sink_name"), f"{place}.sink_name"),
        is_static=given.get("is_static") is True,
        extra=_extra(given, LINK_FIELDS),
    )


def _read_list(data: JSON, place: str, read: Callable[[JSON, str], Part]) -> tuple[Part, ...]:
    if data is None or data == {}:
        return ()
    if not isinstance(data, list):
        raise NotAGraph(f"{place} is {_kind(data)}. Give a list.")
    return tuple(read(item, f"{place}[{number}]") for number, item in enumerate(data))


def _object(data: JSON, place: str) -> Mapping[str, JSON]:
    if not isinstance(data, Mapping):
        raise NotAGraph(f"{place} is {_kind(data)}. Give an object.")
    return data


def _text(data: JSON, place: str) -> str:
    """Return text, or a number as text; null is empty text."""
    if data is None:
        return ""
    if isinstance(data, str):
        return data
    if isinstance(data, int) and not isinstance(data, bool) and abs(data) < LONGEST_NUMBER:
        return str(data)
    raise NotAGraph(f"{place} is {_kind(data)}. Give text.")


def _whole_number(data: JSON, place: str) -> int:
    if data is None:
        return 1
    if isinstance(data, int) and not isinstance(data, bool):
        return data
    raise NotAGraph(f"{place} is {_kind(data)}. Give a whole number.")


def _extra(data: Mapping[str, JSON], known: frozenset[str]) -> dict[str, JSON]:
    return {key: value for key, value in data.items() if key not in known}


def _kind(data: JSON) -> str:
    match data:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case Mapping():
            return "an object"
        case list():
            return "a list"
        case _:
            return f"of the type {type(data).__name__}"


# --- writing ------------------------------------------------------------------------------------


def graph_to_json(graph: Graph) -> dict[str, JSON]:
    """Return the agent JSON of a graph; `parse_graph` reverses it."""
    document: dict[str, JSON] = {
        "id": graph.id,
        "version": graph.version,
        "is_active": graph.is_active,
        "name": graph.name,
        "description": graph.description,
        "nodes": [node_to_json(node) for node in graph.nodes],
        "links": [link_to_json(link) for link in graph.links],
    }
    if graph.sub_graphs:
        document["sub_graphs"] = [graph_to_json(sub) for sub in graph.sub_graphs]
    return document | dict(graph.extra)


def node_to_json(node: Node) -> dict[str, JSON]:
    return {
        "id": node.id,
        "block_id": node.block_id,
        "input_default": dict(node.input_default),
        "metadata": dict(node.metadata),
        **node.extra,
    }


def link_to_json(link: Link) -> dict[str, JSON]:
    return {
        "id": link.id,
        "source_id": link.source_id,
        "source_name": link.source_name,
        "sink_id": link.sink_id,
        "sink_name": link.sink_name,
        "is_static": link.is_static,
        **link.extra,
    }
