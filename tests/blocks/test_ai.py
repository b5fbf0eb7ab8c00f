"""The AI blocks beyond their examples: what is asked, how often, and conversations of an orchestrator."""

from __future__ import annotations

from typing import Any

import pytest

from blocks.base import Emissions
from blocks.catalog.ai_text_summarizer import split_words
from blocks.catalog.orchestrator import ADD, CALL, CALLED
from blocks.context import BlockContext
from blocks.errors import BlockCancelled, BlockFailed
from blocks.examples import World
from blocks.ports import PortError
from blocks.registry import get_registry
from blocks.run import run_block
from llm.errors import AnswerCancelled, ContextTooLong, ModelIdle, ModelUnavailable, RateLimited
from llm.types import ToolCallRequest
from tests.blocks.doubles import FixedToolbox, ScriptedModel, make_context


def run(name: str, inputs: dict[str, Any], context: BlockContext) -> list[tuple[str, Any]]:
    emissions: Emissions = run_block(get_registry().get_by_name(name), inputs, context)
    return list(emissions)


def model_of(context: BlockContext) -> ScriptedModel:
    assert isinstance(context.ports.model, ScriptedModel)
    return context.ports.model


def test_the_request_carries_model_user_and_limit() -> None:
    context = make_context(World(replies=["ok"]))
    run("AI Text Generator", {"prompt": "Hi", "model": " gpt-4o ", "max_tokens": "50"}, context)
    (request,) = model_of(context).requests
    assert (request.model, request.user, request.max_output_tokens) == ("gpt-4o", "user-1", 50)


@pytest.mark.parametrize("error", [RateLimited(retry_after=60), ModelIdle()])
def test_a_rate_limit_or_silence_stops_at_once(error: Exception) -> None:
    context = make_context(World(replies=[error, "never asked"]))
    with pytest.raises(BlockFailed):
        run("AI Text Generator", {"prompt": "Hi", "retry": 5}, context)
    assert len(model_of(context).requests) == 1


def test_a_cancelled_question_is_a_cancelled_block() -> None:
    with pytest.raises(BlockCancelled):
        run("AI Text Generator", {"prompt": "Hi"}, make_context(World(replies=[AnswerCancelled()])))


def test_trouble_is_tried_again_as_often_as_allowed() -> None:
    context = make_context(World(replies=[ModelUnavailable(), ModelUnavailable(), "at last"]))
    assert run("AI Text Generator", {"prompt": "Hi", "retry": 3}, context)[0] == ("response", "at last")


def test_a_prompt_without_values_keeps_its_braces() -> None:
    context = make_context(World(replies=["ok"]))
    run("AI Text Generator", {"prompt": 'Use {{ this }} and {"json": 1}'}, context)
    assert model_of(context).requests[0].messages[0]["content"] == 'Use {{ this }} and {"json": 1}'


def test_a_prompt_that_is_too_long_is_cut_in_the_middle_until_it_fits() -> None:
    context = make_context(World(replies=[ContextTooLong(), ContextTooLong(), '{"a": 1}']))
    prompt = "start" + "x" * 10_000 + "end"
    run("AI Structured Response Generator", {"prompt": prompt, "expected_format": {"a": "n"}}, context)
    lengths = [len(str(request.messages[-1]["content"])) for request in model_of(context).requests]
    assert lengths[0] > lengths[1] > lengths[2]
    last = str(model_of(context).requests[-1].messages[-1]["content"])
    assert last.startswith("start")
    assert last.endswith("end")


def test_without_compression_a_long_prompt_fails() -> None:
    inputs = {"prompt": "x", "expected_format": {"a": "n"}, "compress_prompt_to_fit": False}
    with pytest.raises(BlockFailed, match="longer than the model"):
        run("AI Structured Response Generator", inputs, make_context(World(replies=[ContextTooLong()])))


@pytest.mark.parametrize(
    "reply",
    [
        '<json_output>{"a": 1}</json_output>',
        'Sure!\n<json_output id="7">\n```json\n{"a": 1}\n```\n</json_output> Done.',
        'Here:\n```json\n{"a": 1}\n```',
        '```\n{"a": 1}\n```',
        ' {"a": 1} ',
    ],
)
def test_json_is_found_however_the_model_wraps_it(reply: str) -> None:
    context = make_context(World(replies=[reply]))
    outputs = run("AI Structured Response Generator", {"prompt": "x", "expected_format": {"a": "n"}}, context)
    assert outputs[0] == ("response", {"a": 1})


def test_a_list_of_objects_is_checked_one_by_one() -> None:
    inputs = {"prompt": "x", "expected_format": {"a": "n"}, "list_result": True, "retry": 2}
    context = make_context(World(replies=['[{"a": 1}, {"b": 2}]', '[{"a": 1}, {"a": 2}]']))
    assert run("AI Structured Response Generator", inputs, context)[0] == ("response", [{"a": 1}, {"a": 2}])


def test_json_mode_asks_for_an_object_and_unwraps_a_list() -> None:
    inputs = {"prompt": "x", "expected_format": {"a": "n"}, "list_result": True, "force_json_output": True}
    context = make_context(World(replies=['{"items": [{"a": 1}]}']))
    assert run("AI Structured Response Generator", inputs, context)[0] == ("response", [{"a": 1}])
    assert model_of(context).requests[0].response_format == {"type": "json_object"}


def test_every_word_of_a_long_text_is_in_some_part_and_parts_are_few() -> None:
    text = " ".join(f"w{number}" for number in range(5_000))
    for size, overlap in ((100, 10), (10, 9), (10, 500), (1, 0), (4_999, 0)):
        parts = split_words(text, size, overlap)
        assert len(parts) <= 101
        assert {word for part in parts for word in part.split()} == set(text.split())


def test_an_orchestrator_waits_until_every_call_has_its_result() -> None:
    two = ToolCallRequest(id="call_2", name="add", arguments='{"a": 5}')
    context = make_context(World(tools=[ADD], replies=[[CALL, two]]))
    inputs = {"prompt": "What is 2 + 3?", "multiple_tool_calls": True}
    outputs = run("Orchestrator", inputs, context)
    assert [pin for pin, _ in outputs] == ["tools_^_node-7_~_a", "tools_^_node-7_~_b"] * 2 + ["conversations"]
    assert outputs[3] == ("tools_^_node-7_~_b", None)
    history = outputs[-1][1]
    still = run(
        "Orchestrator", inputs | {"conversation_history": history, "last_tool_output": 5}, make_context()
    )
    assert [pin for pin, _ in still] == ["conversations"]
    done = make_context(World(tools=[ADD], replies=["Both done."]))
    final = run("Orchestrator", inputs | {"conversation_history": still[0][1], "last_tool_output": 9}, done)
    assert final == [("finished", "Both done.")]
    sent = model_of(done).requests[0].messages
    assert [message["tool_call_id"] for message in sent if message["role"] == "tool"] == ["call_1", "call_2"]


def test_only_the_first_call_counts_unless_several_are_allowed() -> None:
    two = ToolCallRequest(id="call_2", name="add", arguments='{"a": 5}')
    outputs = run(
        "Orchestrator", {"prompt": "What is 2 + 3?"}, make_context(World(tools=[ADD], replies=[[CALL, two]]))
    )
    assert outputs[-1] == ("conversations", CALLED)


def test_a_wrong_call_is_told_to_the_model_in_a_valid_conversation() -> None:
    wrong = ToolCallRequest(id="call_0", name="add", arguments="{not json")
    context = make_context(World(tools=[ADD], replies=[[wrong], [CALL]]))
    run("Orchestrator", {"prompt": "What is 2 + 3?"}, context)
    second = model_of(context).requests[1].messages
    assert second[-2]["tool_calls"][0]["id"] == "call_0"
    assert second[-1] == {
        "role": "tool",
        "tool_call_id": "call_0",
        "content": "Not run: the arguments of add are not a JSON object. Call again.",
    }


def test_a_tool_that_fails_is_told_to_the_model_and_each_call_has_its_own_key() -> None:
    context = make_context(
        World(
            tools=[ADD], replies=[[CALL], [CALL], "I give up."], tool_results={"add": PortError("It broke.")}
        )
    )
    outputs = run("Orchestrator", {"prompt": "What is 2 + 3?", "agent_mode_max_iterations": -1}, context)
    assert outputs[0] == ("finished", "I give up.")
    assert isinstance(context.ports.tools, FixedToolbox)
    assert context.ports.tools.calls == [("add", {"a": 2, "b": 3})] * 2
    assert '{"error": "It broke."}' in str(outputs[1])


def test_the_offered_tools_reach_the_model() -> None:
    context = make_context(World(tools=[ADD], replies=["No need."]))
    run("Orchestrator", {"prompt": "Hi"}, context)
    (spec,) = model_of(context).requests[0].tools
    assert (spec.name, spec.parameters["required"]) == ("add", ["a"])
