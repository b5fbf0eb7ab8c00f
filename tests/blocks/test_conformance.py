"""The catalogue is what the agent format says: ids, names, pins, types and defaults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blocks.base import Block
from blocks.registry import get_registry
from blocks.schema import PinInfo

FACTS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "expected_blocks.json").read_text())
# Facts that name something of the other platform: ours stands in for it.
OWN_DEFAULTS = {("*", "model"), ("Orchestrator", "sys_prompt")}
OWN_ENUMS = {("SQL Query", "database_type"): ["sqlite"]}


def test_every_block_of_the_format_is_there_and_no_other() -> None:
    assert sorted(block.id for block in get_registry()) == sorted(fact["id"] for fact in FACTS)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: str(fact["name"]).replace(" ", "_"))
def test_block_is_as_the_format_says(fact: dict[str, Any]) -> None:
    block = get_registry().get(fact["id"])
    assert facts_of(block) == expected(fact)
    assert [describe(block, pin) for pin in block.input_pins] == [
        expected_pin(fact, pin, is_input=True) for pin in fact["inputs"]
    ]
    assert [describe(block, pin) for pin in block.output_pins] == [
        expected_pin(fact, pin, is_input=False) for pin in fact["outputs"]
    ]


def facts_of(block: Block) -> dict[str, Any]:
    return {
        "name": block.name,
        "category": block.category.value,
        "type": block.type.value,
        "effects": block.effects.value,
        "static_output": block.static_output,
        "nondeterministic": block.nondeterministic,
        "repeats": list(block.repeats),
        "sensitive": block.sensitive,
        "aliases": dict(block.aliases),
        "credentials": block.credentials is not None,
        "dynamic_inputs": block.dynamic_inputs is not None,
    }


def expected(fact: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": fact["name"],
        "category": fact["category"],
        "type": fact["type"],
        "effects": fact["effects"],
        "static_output": fact["static_output"],
        "nondeterministic": fact.get("nondeterministic", False),
        "repeats": fact["repeats"],
        "sensitive": fact.get("sensitive", False),
        "aliases": fact.get("aliases", {}),
        "credentials": "credentials" in fact,
        "dynamic_inputs": "dynamic_inputs" in fact,
    }


def describe(block: Block, pin: PinInfo) -> dict[str, Any]:
    is_input = block.inputs_by_name.get(pin.name) is pin
    described: dict[str, Any] = {"name": pin.name, "type": pin.type}
    if is_input:
        own = {("*", pin.name), (block.name, pin.name)} & OWN_DEFAULTS
        described |= {
            "required": pin.required,
            "default": "ours" if own and not pin.required else plain(pin.default),
            "advanced": pin.advanced,
            "hidden": pin.hidden,
            "secret": pin.secret,
            "enum": list(pin.enum),
            "min": pin.minimum,
            "max": pin.maximum,
        }
    return described


def expected_pin(fact: dict[str, Any], pin: dict[str, Any], *, is_input: bool) -> dict[str, Any]:
    wanted: dict[str, Any] = {"name": pin["name"], "type": pin["type"]}
    if is_input:
        own = {("*", pin["name"]), (fact["name"], pin["name"])} & OWN_DEFAULTS
        wanted |= {
            "required": pin.get("required", False),
            "default": "ours" if own and not pin.get("required") else pin.get("default"),
            "advanced": pin.get("advanced", False),
            "hidden": pin.get("hidden", False),
            "secret": pin.get("secret", False),
            "enum": pin.get("enum", []) + OWN_ENUMS.get((fact["name"], pin["name"]), []),
            "min": pin.get("min"),
            "max": pin.get("max"),
        }
    return wanted


def plain(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else value
