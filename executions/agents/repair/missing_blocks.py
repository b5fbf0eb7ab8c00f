"""Replacement of blocks that are not installed by general ones that do the same work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from blocks.base import Block
from blocks.errors import UnknownBlock
from blocks.foreign_blocks import find_foreign, find_replacement
from blocks.pins import SEPARATOR
from blocks.replacements import Replacement
from blocks.schema import JSON
from executions.agents.repair.fixes import AppliedFix, Fixed
from executions.agents.validation.problems import Code
from executions.agents.validation.scope import Scope
from executions.graph import Graph, Link, Node

FIELD = "_#_"


def replace_missing(graph: Graph, scope: Scope) -> Fixed:
    """Put a general block in the place of each missing one that it can replace, its links and values with it."""
    chosen = {node.id: found for node in graph.nodes if (found := choose(node, scope)) is not None}
    if not chosen:
        return Fixed(graph, ())
    fixes = [replaced(node, *chosen[node.id]) for node in graph.nodes if node.id in chosen]
    nodes = tuple(converted(node, *chosen[node.id]) if node.id in chosen else node for node in graph.nodes)
    links = tuple(moved for link in graph.links if (moved := move(link, chosen)) is not None)
    return Fixed(replace(graph, nodes=nodes, links=links), tuple(fixes))


def choose(node: Node, scope: Scope) -> tuple[Replacement, Block] | None:
    if node.block_id in scope.registry or (replacement := find_replacement(node.block_id)) is None:
        return None
    try:
        block = scope.registry.get_by_name(replacement.block)
    except UnknownBlock:
        return None
    return (replacement, block) if scope.may_use(block) else None


def converted(node: Node, replacement: Replacement, block: Block) -> Node:
    """Return the node with the other block: the values it understands under their names there, and no others."""
    values = dict(replacement.values)
    for name, value in node.input_default.items():
        pin = renamed(name, replacement.inputs)
        if pin is not None:
            put(values, pin, fitting(value, block, pin))
    return replace(node, block_id=block.id, input_default=values)


def put(values: dict[str, JSON], pin: str, value: JSON) -> None:
    """Set the value of a pin; one such as `body_#_text` is a field of the object on `body`."""
    pin, _, field = pin.partition(FIELD)
    if not field:
        values[pin] = value
    elif value is not None:
        whole = values.get(pin)
        values[pin] = {**(whole if isinstance(whole, dict) else {}), field: value}


def fitting(value: JSON, block: Block, pin: str) -> JSON:
    """Return the value for its new pin; a list of texts, such as recipients, becomes one text for a text pin."""
    target = block.inputs_by_name.get(pin)
    if target is not None and target.type == "string" and isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return value


def move(link: Link, chosen: Mapping[str, tuple[Replacement, Block]]) -> Link | None:
    """Return the link at the other block's pins; None when that has none for it."""
    if link.source_id in chosen:
        name = renamed(link.source_name, chosen[link.source_id][0].outputs)
        if name is None:
            return None
        link = replace(link, source_name=name)
    if link.sink_id in chosen:
        name = renamed(link.sink_name, chosen[link.sink_id][0].inputs)
        if name is None:
            return None
        link = replace(link, sink_name=name)
    return link


def renamed(name: str, names: Mapping[str, str]) -> str | None:
    """Return the pin's other name. The part of a list or an object that a nested name means is the whole there."""
    return names.get(SEPARATOR.split(name, maxsplit=1)[0])


def replaced(node: Node, replacement: Replacement, block: Block) -> AppliedFix:
    foreign = find_foreign(node.block_id)
    name = foreign.label if foreign else node.block_id
    caveat = f" {replacement.caveat}" if replacement.caveat else ""
    message = f"Put {block.name} in the place of {name}.{caveat}"
    return AppliedFix(code=Code.UNKNOWN_BLOCK, message=message, node_id=node.id)
