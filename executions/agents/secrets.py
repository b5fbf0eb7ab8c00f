"""Secrets in a graph: removed at import; at export everything private is removed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from blocks.base import Block, BlockType
from blocks.registry import BlockRegistry
from blocks.schema import JSON
from durable.redaction import is_secret_name
from executions.graph import Graph, Node

REFERENCE_FIELDS = ("id", "provider", "type", "title")  # of credentials: which one, never what is in it
KEYS = re.compile(
    r"\bsk-[A-Za-z0-9_-]{20,200}|\bgh[pousr]_[A-Za-z0-9]{30,200}|\bxox[abprs]-[A-Za-z0-9-]{10,200}|\bAKIA[0-9A-Z]{16}\b"
    r"|\bAIza[0-9A-Za-z_-]{35}|\beyJ[A-Za-z0-9_-]{10,500}\.[A-Za-z0-9_-]{10,500}\.|-----BEGIN [A-Z ]{0,30}PRIVATE KEY"
)
CREDENTIALS_TEXT = re.compile(r"(?:bearer|basic|token)\s+\S", re.IGNORECASE)
SHORTEST_SECRET = 8
NOT_OURS = ("webhook", "webhook_id")  # of a node: registrations at another site, with their secret


@dataclass(kw_only=True)
class Removal:
    """What was removed, as node and pin."""

    places: list[tuple[str, str]] = field(default_factory=list)

    def note(self, node_id: str, place: str) -> None:
        self.places.append((node_id, place))


def remove_secrets(graph: Graph, registry: BlockRegistry) -> tuple[Graph, list[tuple[str, str]]]:
    """Return the graph without secrets, and the node and pin of each. Sub-graphs are not searched."""
    removal = Removal()
    nodes = tuple(clean_node(node, registry, removal) for node in graph.nodes)
    kept = {name: value for name, value in graph.extra.items() if name != "user_id"}
    extra = clean_object(kept, removal, "", "")
    return replace(graph, nodes=nodes, extra=extra), removal.places


def remove_private(graph: Graph, registry: BlockRegistry) -> Graph:
    """Return the graph as others may see it: also without credential references and secret pins."""
    graph, _ = remove_secrets(graph, registry)
    return replace(graph, nodes=tuple(share_node(node, registry) for node in graph.nodes))


def is_reference(value: JSON) -> bool:
    """Return whether the value only refers to stored credentials."""
    return isinstance(value, Mapping) and bool(value.get("id")) and set(value) <= set(REFERENCE_FIELDS)


def is_stray_secret(name: str, value: JSON) -> bool:
    """Return whether the name is that of a secret, on a block without such a pin."""
    return is_secret_name(name) and bool(value) and not isinstance(value, bool)


def suspicious_pins(node: Node) -> Iterator[str]:
    """Yield the pins whose value contains what looks like a key."""
    for name, value in node.input_default.items():
        if any(KEYS.search(text) for text in texts_in(value)):
            yield name


# --- one node -----------------------------------------------------------------------------------


def clean_node(node: Node, registry: BlockRegistry, removal: Removal) -> Node:
    block = registry.get(node.block_id) if node.block_id in registry else None
    given: dict[str, JSON] = {}
    for name, value in node.input_default.items():
        if not is_removed(name, value, node, block):
            given[name] = clean_value(name, value, removal, node.id, name)
        else:
            removal.note(node.id, name)
    extra = {name: None if name in NOT_OURS else value for name, value in node.extra.items()}
    return replace(node, input_default=given, extra=clean_object(extra, removal, node.id, ""))


def is_removed(name: str, value: JSON, node: Node, block: Block | None) -> bool:
    pin = block.inputs_by_name.get(name) if block else None
    if pin is not None and pin.secret and not pin.required:
        return bool(value)
    if block and block.type is BlockType.INPUT and name == "value":
        named = node.input_default.get("name")
        private = node.input_default.get("secret") is True or (
            isinstance(named, str) and is_secret_name(named)
        )
        return private and isinstance(value, str) and bool(value)
    return (
        pin is None
        and is_secret_name(name)
        and isinstance(value, str)
        and bool(value)
        and not is_template(value)
    )


def clean_value(name: str, value: JSON, removal: Removal, node_id: str, place: str) -> JSON:
    if isinstance(value, Mapping):
        if is_secret_name(name) and ("provider" in value or "id" in value):
            return reference_of(value, removal, node_id, place)
        return clean_object(value, removal, node_id, place)
    if isinstance(value, list):
        return [clean_value("", item, removal, node_id, place) for item in value]
    return value


def reference_of(value: Mapping[str, JSON], removal: Removal, node_id: str, place: str) -> dict[str, JSON]:
    kept = {name: value[name] for name in REFERENCE_FIELDS if name in value}
    if len(kept) < len(value):
        removal.note(node_id, place)
    return kept


def clean_object(value: Mapping[str, JSON], removal: Removal, node_id: str, place: str) -> dict[str, JSON]:
    kept: dict[str, JSON] = {}
    for name, item in value.items():
        inner = f"{place}.{name}" if place else name
        if is_secret_name(name) and isinstance(item, str) and looks_secret(item):
            removal.note(node_id, inner)
        else:
            kept[name] = clean_value(name, item, removal, node_id, inner)
    return kept


def looks_secret(text: str) -> bool:
    """Under a secret name: no description and no template, but one long word or what a header carries."""
    if is_template(text):
        return False
    words = len(text.split())
    return (words == 1 and len(text) >= SHORTEST_SECRET) or bool(
        CREDENTIALS_TEXT.match(text) or KEYS.search(text)
    )


def is_template(text: str) -> bool:
    return "{{" in text


def share_node(node: Node, registry: BlockRegistry) -> Node:
    if node.block_id not in registry:
        return replace(
            node, input_default={k: v for k, v in node.input_default.items() if not is_secret_name(k)}
        )
    pins = registry.get(node.block_id).inputs_by_name
    private = {name for name, pin in pins.items() if pin.secret or pin.type == "credentials"} | {"user_id"}
    given = {name: value for name, value in node.input_default.items() if name not in private}
    return replace(node, input_default=given)


def texts_in(value: JSON) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
