"""Arguments made at random, from the schemas and against them: an answer every time, never a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm.types import ToolCallRequest
from tests.tiers import examples
from tests.tools.conftest import Bench
from tools import registry
from tools.models import ToolCall

NAMES = [tool.name for tool in registry.discover().all() if not tool.name.startswith("test_")]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


def from_schema(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that fit a schema of the kind our argument models give."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([from_schema(choice) for choice in schema["anyOf"]])
    match schema.get("type"):
        case "object":
            properties = {name: from_schema(value) for name, value in schema.get("properties", {}).items()}
            required = set(schema.get("required", ()))
            return st.fixed_dictionaries(
                {name: made for name, made in properties.items() if name in required},
                optional={name: made for name, made in properties.items() if name not in required},
            )
        case "array":
            most = min(schema.get("maxItems", 3), 3)
            return st.lists(
                from_schema(schema.get("items", {})), min_size=schema.get("minItems", 0), max_size=most
            )
        case "string":
            least = schema.get("minLength", 0)
            return st.text(min_size=least, max_size=min(schema.get("maxLength", 50), least + 50))
        case "integer":
            return st.integers(schema.get("minimum"), schema.get("maximum"))
        case "number":
            return st.floats(schema.get("minimum"), schema.get("maximum"), allow_nan=False)
        case "boolean":
            return st.booleans()
    return anything


@st.composite
def requests(draw: st.DrawFn, name: str) -> ToolCallRequest:
    tool = registry.current().get(name)
    assert tool is not None
    from tools.schema import parameters

    fitting = draw(from_schema(parameters(tool.args)))
    if draw(st.booleans()) and fitting:
        fitting[draw(st.sampled_from(sorted(fitting)))] = draw(anything)
    text = json.dumps(fitting)
    if draw(st.integers(0, 9)) == 0:
        text = draw(st.text(max_size=50)) or text[: len(text) // 2]
    return ToolCallRequest(id=draw(st.text(max_size=10)), name=name, arguments=text)


@pytest.mark.parametrize("name", NAMES)
def test_random_arguments_always_get_an_answer(bench: Bench, name: str) -> None:
    @settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
    @given(requests(name))
    def always(request: ToolCallRequest) -> None:
        bench.step += 1
        [finished] = bench.run(request)
        assert finished.call_id == request.id
        assert finished.output["type"] and finished.output["message"] and finished.output["session_id"]
        assert finished.output.get("error") != "internal", finished
        json.dumps(finished.output, allow_nan=False).encode()
        assert ToolCall.objects.get(key=bench.key(request.id)).is_finished

    always()
