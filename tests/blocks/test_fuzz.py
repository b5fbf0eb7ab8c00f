"""Any input at all: blocks answer or fail with a sentence, and never hang or crash."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blocks.base import Block, Effects
from blocks.errors import BlockCrashed, BlockError, BlockParked, OutputError
from blocks.examples import World
from blocks.ports import ToolOffer
from blocks.registry import get_registry
from blocks.run import run_block
from blocks.schema import JSON
from durable.stop_signal import StopSignal
from llm.types import Completion, Request, ToolCallRequest
from tests.blocks.doubles import ScriptedModel, make_context, make_ports
from tests.tiers import examples

TRICKY = """
0|-1|1e400|[1,2]|{"a": 1}|[|true|null|{{ x }}|{% for x in y %}|(a+)+$|\\x4|\\|<a><b>1</b></a>|<a|%Y-%m-%d|%|data:,x
workspace://x|file:///etc/passwd|\0|\u202e|\ud800|http://127.0.0.1/|https://example.com/|values_#_a|2025-02-30
"""
texts = st.text(max_size=30) | st.sampled_from(["", *TRICKY.strip().replace("\n", "|").split("|")])
numbers = (
    st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, -1, 10**6])
)
anything = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
PURE = [block for block in get_registry() if block.effects is Effects.PURE]
OTHERS = [block for block in get_registry() if block.effects is not Effects.PURE]
FUZZ = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def from_schema(schema: dict[str, Any]) -> st.SearchStrategy[JSON]:
    """Values that fit a pin's schema."""
    if "anyOf" in schema:
        return st.one_of(*(from_schema(option) for option in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "string":
            return texts
        case "integer":
            least, most = schema.get("minimum", -1000), schema.get("maximum", 1000)
            return st.integers(least, max(most, least))
        case "number":
            return numbers
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            return st.lists(from_schema(schema.get("items") or {}), max_size=5)
        case "object":
            return st.dictionaries(texts, from_schema(_member(schema)), max_size=4)
        case _:
            return anything


def _member(schema: dict[str, Any]) -> dict[str, Any]:
    member = schema.get("additionalProperties")
    return member if isinstance(member, dict) else {}


def inputs_of(block: Block) -> st.SearchStrategy[dict[str, JSON]]:
    """Mostly what fits, sometimes anything, sometimes nothing, for each pin."""
    pins = {pin.name: from_schema(dict(pin.schema)) | anything for pin in block.input_pins}
    required = {name: pins[name] for name in pins if block.inputs_by_name[name].required}
    optional = {name: pins[name] for name in pins if name not in required}
    return st.fixed_dictionaries(required, optional=optional)


OFFER = ToolOffer(
    name="add", description="", parameters={"properties": {"a": {}}, "required": ["a"]}, node_id="n", pins={}
)
arguments = texts | st.sampled_from(['{"a": 1}', '{"b": 1}', "[]"])
answers = texts | st.lists(
    st.builds(ToolCallRequest, id=texts, name=texts | st.just("add"), arguments=arguments),
    min_size=1,
    max_size=3,
)


@dataclass
class Parrot:
    """A model that always says the same."""

    answer: Any

    def complete(self, request: Request, cancel: StopSignal) -> Completion:
        return ScriptedModel(replies=[self.answer]).complete(request, cancel)


def check_run(block: Block, inputs: dict[str, JSON], answer: Any = "") -> None:
    emitted = 0
    ports = replace(make_ports(World(tools=[OFFER])), model=Parrot(answer))
    try:
        for pin, value in run_block(block, inputs, make_context(ports=ports)):
            assert pin in block.outputs_by_name or block.dynamic_outputs is not None
            json.dumps(value, allow_nan=False).encode()
            emitted += 1
            if emitted > 200:
                break
    except (BlockCrashed, OutputError) as error:
        raise AssertionError(f"{block.name} crashed") from error
    except (BlockError, BlockParked) as error:
        assert str(error)


@pytest.mark.parametrize("block", PURE, ids=lambda block: block.name.replace(" ", "_"))
def test_a_pure_block_answers_or_fails_with_a_sentence(block: Block) -> None:
    @FUZZ
    @given(inputs_of(block))
    def fuzz(inputs: dict[str, JSON]) -> None:
        check_run(block, inputs)

    fuzz()


@pytest.mark.parametrize("block", OTHERS, ids=lambda block: block.name.replace(" ", "_"))
def test_a_block_with_an_empty_world_around_it_answers_or_fails_with_a_sentence(block: Block) -> None:
    @FUZZ
    @given(inputs_of(block), answers)
    def fuzz(inputs: dict[str, JSON], answer: Any) -> None:
        check_run(block, inputs, answer)

    fuzz()
