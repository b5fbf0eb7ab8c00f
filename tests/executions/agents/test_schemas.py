"""What an agent takes and gives, derived from its graph."""

from __future__ import annotations

from typing import Any

import pytest

from executions.agents.schemas import schemas_of
from executions.graph import parse_graph
from tests.executions.agents.samples import adder, agent, link, node


def inputs(*nodes: dict[str, Any]) -> dict[str, Any]:
    return dict(schemas_of(parse_graph(agent(list(nodes)))).inputs)


def one_input(block: str, **values: Any) -> dict[str, Any]:
    schema: dict[str, Any] = inputs(node("n", block, name="x", **values))["properties"]["x"]
    return {key: value for key, value in schema.items() if key not in ("title", "advanced", "secret")}


@pytest.mark.parametrize(
    ("block", "values", "schema"),
    [
        ("Agent Input", {}, {}),
        ("Agent Short Text Input", {}, {"type": "string", "format": "short-text"}),
        ("Agent Long Text Input", {}, {"type": "string", "format": "long-text"}),
        ("Agent Number Input", {}, {"type": "integer"}),
        ("Agent Number Input", {"value": "5"}, {"type": "integer", "default": 5}),
        ("Agent Number Input", {"value": 0}, {"type": "integer", "default": 0}),
        ("Agent Date Input", {}, {"type": "string", "format": "date"}),
        ("Agent Time Input", {}, {"type": "string", "format": "time"}),
        ("Agent File Input", {}, {"type": "string", "format": "file"}),
        ("Agent Toggle Input", {}, {"type": "boolean", "default": False}),
        ("Agent Toggle Input", {"value": True}, {"type": "boolean", "default": True}),
        ("Agent Dropdown Input", {}, {"type": "string"}),
        ("Agent Dropdown Input", {"options": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ("Agent Dropdown Input", {"placeholder_values": ["a"]}, {"type": "string", "enum": ["a"]}),
        ("Agent Short Text Input", {"placeholder_values": ["a"]}, {"type": "string", "format": "short-text"}),
        (
            "Agent Table Input",
            {},
            {"type": "array", "items": {"type": "object", "additionalProperties": True}},
        ),
        (
            "Agent Table Input",
            {"column_headers": ["Name"]},
            {"type": "array", "items": {"type": "object", "properties": {"Name": {"type": "string"}}}},
        ),
        ("Agent Input", {"value": "", "description": "Why"}, {"default": "", "description": "Why"}),
    ],
)
def test_an_input_is_described_by_its_block_and_its_values(
    block: str, values: dict[str, Any], schema: dict[str, Any]
) -> None:
    assert one_input(block, **values) == schema


def test_inputs_without_a_value_of_their_own_are_required() -> None:
    nodes = [
        node("a", "Agent Input", name="User's Email", title="Your address"),
        node("b", "Agent Input", name="Colour", value="red", advanced=True),
        node("c", "Agent Input", name=7),
        node("d", "Agent Input"),
    ]
    schema = inputs(*nodes)
    assert (schema["type"], schema["required"], list(schema["properties"])) == (
        "object",
        ["User's Email"],
        ["User's Email", "Colour"],
    )
    assert schema["properties"]["User's Email"]["title"] == "Your address"
    assert schema["properties"]["Colour"]["advanced"] is True


def test_outputs_have_the_type_of_what_is_linked_to_them() -> None:
    outputs = schemas_of(parse_graph(adder())).outputs
    assert outputs["properties"] == {"Sum": {"type": "number", "title": "Sum", "advanced": False}}


def test_an_output_with_a_template_is_text() -> None:
    document = adder()
    document["nodes"][2]["input_default"] |= {
        "format": "{{Sum}}!",
        "title": "Total",
        "description": "All of it",
    }
    found = schemas_of(parse_graph(document)).outputs["properties"]["Sum"]
    assert found == {"type": "string", "title": "Total", "description": "All of it", "advanced": False}


def test_two_outputs_of_one_name_are_one_whose_type_both_share() -> None:
    document = adder()
    document["nodes"] += [node("w", "Word Character Count", text="a"), node("o", "Agent Output", name="Sum")]
    document["links"].append(link("w.word_count", "o.value"))
    assert "type" not in schemas_of(parse_graph(document)).outputs["properties"]["Sum"]
    document["links"][-1] = link("add.result", "o.value")
    assert schemas_of(parse_graph(document)).outputs["properties"]["Sum"]["type"] == "number"


def test_a_graph_of_unknown_blocks_takes_and_gives_nothing() -> None:
    schemas = schemas_of(
        parse_graph({"nodes": [{"id": "a", "block_id": "nope", "input_default": {"name": "x"}}]})
    )
    assert (schemas.inputs["properties"], schemas.outputs["properties"]) == ({}, {})
