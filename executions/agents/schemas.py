"""The input and output schema of an agent, derived from its Input and Output nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from blocks.base import Block, BlockType
from blocks.coercion import coerce
from blocks.pins import MISSING
from blocks.registry import BlockRegistry, get_registry
from blocks.schema import JSON
from executions.agents.pins import PinError, pins_of
from executions.graph import Graph, Node

FORMATS = {"short": "short-text", "long": "long-text"}  # as AutoGPT's forms name them
SHOWN = ("type", "format", "items", "minimum", "maximum")
SIMPLE = frozenset({"string", "integer", "number", "boolean", "array", "object"})


@dataclass(frozen=True, kw_only=True)
class Schemas:
    """The JSON schemas of an agent's inputs and outputs."""

    inputs: Mapping[str, JSON]
    outputs: Mapping[str, JSON]


def schemas_of(graph: Graph, registry: BlockRegistry | None = None) -> Schemas:
    known = registry or get_registry()
    return Schemas(inputs=input_schema(graph, known), outputs=output_schema(graph, known))


def input_schema(graph: Graph, registry: BlockRegistry) -> dict[str, JSON]:
    """Return a schema with a property per named input; those without a default are required."""
    properties = {
        name: input_property(node, block, name)
        for node, block in nodes_of(graph, registry, BlockType.INPUT)
        if (name := name_of(node))
    }
    required = [name for name, schema in properties.items() if "default" not in schema]
    return {"type": "object", "properties": properties, "required": required}


def output_schema(graph: Graph, registry: BlockRegistry) -> dict[str, JSON]:
    """Return a schema with a property per named output; none is required, as a branch may not be taken."""
    properties: dict[str, JSON] = {}
    for node, _ in nodes_of(graph, registry, BlockType.OUTPUT):
        if name := name_of(node):
            known = properties.get(name)
            new = output_property(node, graph, registry, name)
            properties[name] = new if known is None else merge_outputs(known, new)
    return {"type": "object", "properties": properties, "required": []}


def nodes_of(graph: Graph, registry: BlockRegistry, kind: BlockType) -> Iterator[tuple[Node, Block]]:
    for node in graph.nodes:
        if node.block_id in registry and (block := registry.get(node.block_id)).type is kind:
            yield node, block


def name_of(node: Node) -> str:
    name = node.input_default.get("name")
    return name if isinstance(name, str) else ""


# --- one input ----------------------------------------------------------------------------------


def input_property(node: Node, block: Block, name: str) -> dict[str, JSON]:
    given = node.input_default
    schema = value_schema(block) | choices(given, block) | columns(given, block)
    schema["title"] = text(given.get("title")) or name
    if description := text(given.get("description")):
        schema["description"] = description
    default = default_value(given, block)
    if default is not MISSING:
        schema["default"] = default
    schema["advanced"] = given.get("advanced") is True and default is not MISSING
    schema["secret"] = given.get("secret") is True
    return schema


def value_schema(block: Block) -> dict[str, JSON]:
    """Return the type and format of the block's `value`, without null."""
    value = block.inputs_by_name.get("value")
    if value is None:
        return {}
    branches = [
        branch for branch in value.schema.get("anyOf", [value.schema]) if branch.get("type") != "null"
    ]
    found = {key: branches[0][key] for key in SHOWN if key in branches[0]} if len(branches) == 1 else {}
    if "format" in found:
        found["format"] = FORMATS.get(found["format"], found["format"])
    return found


def default_value(given: Mapping[str, JSON], block: Block) -> JSON:
    pin = block.inputs_by_name.get("value")
    value = given.get("value")
    if value is None:
        return MISSING if pin is None or pin.default is None else pin.default
    return coerce(value, pin.schema) if pin else value


def choices(given: Mapping[str, JSON], block: Block) -> dict[str, JSON]:
    """Return the choices of a dropdown, under the current name or the old one."""
    if "options" not in block.inputs_by_name:
        return {}
    options = given.get("options") or given.get("placeholder_values")
    return {"enum": options} if isinstance(options, list) and options else {}


def columns(given: Mapping[str, JSON], block: Block) -> dict[str, JSON]:
    """Return the columns of a table."""
    headers = given.get("column_headers") if "column_headers" in block.inputs_by_name else None
    if not isinstance(headers, list) or not headers:
        return {}
    row = {"type": "object", "properties": {str(header): {"type": "string"} for header in headers}}
    return {"items": row}


# --- one output ---------------------------------------------------------------------------------


def output_property(node: Node, graph: Graph, registry: BlockRegistry, name: str) -> dict[str, JSON]:
    templated = bool(node.input_default.get("format"))
    schema: dict[str, JSON] = {"type": "string"} if templated else linked_type(node, graph, registry)
    schema["title"] = text(node.input_default.get("title")) or name
    if description := text(node.input_default.get("description")):
        schema["description"] = description
    schema["advanced"] = node.input_default.get("advanced") is True
    return schema


def linked_type(node: Node, graph: Graph, registry: BlockRegistry) -> dict[str, JSON]:
    """Return the type of the linked output, if there is one and its type is known."""
    kinds = {
        source_type(link.source_id, link.source_name, graph, registry)
        for link in graph.links_into(node.id)
        if link.sink_name == "value"
    }
    kind = kinds.pop() if len(kinds) == 1 else ""
    return {"type": kind} if kind else {}


def source_type(node_id: str, pin: str, graph: Graph, registry: BlockRegistry) -> str:
    node = graph.node(node_id)
    if node is None or node.block_id not in registry:
        return ""
    try:
        kind = pins_of(node, registry.get(node.block_id)).find_output(pin).schema.get("type")
    except PinError:
        return ""
    return kind if isinstance(kind, str) and kind in SIMPLE else ""


def merge_outputs(known: Mapping[str, JSON], new: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the common schema of two outputs with the same name."""
    same_type = {"type": known["type"]} if "type" in known and known.get("type") == new.get("type") else {}
    return same_type | {key: value for key, value in known.items() if key != "type"}


def text(value: JSON) -> str:
    return value if isinstance(value, str) else ""
