"""An orchestrator whose model wants back what it gave: in its own rounds, over the graph, and at a second attempt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from blocks.adapters.model import PlatformModel
from blocks.catalog.orchestrator import ADD
from blocks.context import BlockContext
from blocks.examples import World
from blocks.registry import get_registry
from blocks.run import run_block
from executions.engine.ports.model import RecordingModel
from tests.blocks.doubles import make_context
from tests.strict_model import CANARY, StrictModel

Emitted = list[tuple[str, Any]]


@pytest.fixture
def strict(settings: Settings) -> Iterator[StrictModel]:
    with StrictModel(arguments={"a": 2, "b": 3}) as server:
        settings.OPENAI_BASE_URL = server.url
        settings.OPENAI_API_KEY = "strict"
        settings.COPILOT_MODEL = "all"
        yield server


@pytest.fixture
def context() -> BlockContext:
    return attempt(make_context(World(tools=[ADD], tool_results={"add": {"result": 5}})))


def attempt(context: BlockContext) -> BlockContext:
    """The context of another attempt at the same run: what was stored is there."""
    model = RecordingModel(PlatformModel(), context.ports.store, lambda: None)
    return replace(context, ports=replace(context.ports, model=model))


def run(context: BlockContext, **inputs: Any) -> Emitted:
    return list(run_block(get_registry().get_by_name("Orchestrator"), {"prompt": "Add.", **inputs}, context))


@pytest.mark.parametrize("many", [True, False])
def test_rounds_of_its_own_give_it_back_and_a_second_attempt_asks_nothing_again(
    strict: StrictModel, context: BlockContext, many: bool
) -> None:
    inputs = {"agent_mode_max_iterations": 5, "multiple_tool_calls": many}
    first = run(context, **inputs)
    assert strict.refusals == [] and dict(first)["finished"].startswith("Answer")
    assert CANARY not in str(first)
    asked = len(strict.bodies)
    assert run(attempt(context), **inputs) == first
    assert len(strict.bodies) == asked == 3


@pytest.mark.parametrize("many", [True, False])
def test_conversation_that_the_graph_brings_back_has_it_again_and_never_shows_it(
    strict: StrictModel, context: BlockContext, many: bool
) -> None:
    emitted = run(context, multiple_tool_calls=many)
    seen = str(emitted)
    while "finished" not in dict(emitted):
        history = dict(emitted)["conversations"]
        context = replace(context, node_execution_id=f"{context.node_execution_id}+")
        context.ports.store.values = {  # type: ignore[attr-defined]  # what one run keeps is not there in the next
            place: value
            for place, value in context.ports.store.values.items()  # type: ignore[attr-defined]
            if not place[1].startswith("model:")
        }
        emitted = run(
            attempt(context),
            conversation_history=history,
            last_tool_output={"result": 5},
            multiple_tool_calls=many,
        )
        seen += str(emitted)
    assert strict.refusals == [] and len(strict.bodies) == 3
    assert CANARY not in seen
