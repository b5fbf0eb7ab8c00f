"""Orchestrator: let a model use other blocks as tools."""

from typing import Any, Literal

from blocks import limits
from blocks.base import BlockType, Category, Effects, Emissions, Leaves, block, repeatable_by_key
from blocks.coercion import as_text
from blocks.context import BlockContext
from blocks.examples import Example, World
from blocks.ports import ToolOffer
from blocks.schema import (
    JSON,
    AnyList,
    BlockInputs,
    BlockOutputs,
    Boolean,
    Credentials,
    Integer,
    ModelName,
    Objects,
    Text,
    TextMap,
    credentials_pin,
    pin,
)
from blocks.support.ai import (
    LEGACY_KEYS,
    LLM,
    fill_prompt,
    model_pin,
    ollama_pin,
    pending_calls,
    usable_messages,
)
from blocks.support.orchestration import (
    AnswerCarries,
    OrchestratorModel,
    OrchestratorRound,
    pins_of,
    run_call,
    tool_message,
)
from llm.types import ToolCallRequest

TOOLS_PREFIX = "tools_^_"
UNDECLARED = frozenset({"tool_functions", "tool_calls"})
SYSTEM_PROMPT = (
    "Reach the user's goal step by step by calling the functions you are given. Use only arguments you know and never "
    "make them up. Check each result before the next call. When the goal is reached, or no function can help any "
    "further, answer in text without calling a function."
)


class Inputs(BlockInputs):
    prompt: Text = pin(description="The goal; {{ name }} is filled in from prompt_values.")
    model: ModelName = model_pin()
    credentials: Credentials = credentials_pin()
    multiple_tool_calls: Boolean = pin(False, description="Allow several tool calls at once.", advanced=True)
    sys_prompt: Text = pin(SYSTEM_PROMPT, description="System prompt.", advanced=True)
    conversation_history: Objects | None = pin(
        [], description="The conversation so far, linked back from `conversations`.", advanced=True
    )
    last_tool_output: JSON = pin(None, description="The last tool's output, linked back.", advanced=True)
    retry: Integer = pin(3, description="Maximum number of attempts after an invalid call.", advanced=True)
    prompt_values: TextMap = pin(
        {}, description="Variables of the prompt; link each to prompt_values_#_<name>."
    )
    max_tokens: Integer | None = pin(None, description="Maximum length of an answer.", advanced=True)
    ollama_host: Text = ollama_pin()
    agent_mode_max_iterations: Integer = pin(
        0,
        description="0: one call, the agent loops. N: up to N rounds in the block. -1: until done.",
        advanced=True,
    )
    execution_mode: Literal["built_in", "extended_thinking"] = pin(
        "built_in", description="Execution mode; both are the same here.", advanced=True
    )
    conversation_compaction: Boolean = pin(
        True, description="Shorten a conversation that is too long.", advanced=True
    )


class Outputs(BlockOutputs):
    tools: JSON
    finished: Text
    conversations: AnyList


def is_tool_pin(pin_name: str, inputs: Any) -> bool:
    """Return whether the pin is `tools_^_{node}_~_{pin}`, which carries an argument to a tool's node."""
    return pin_name in UNDECLARED or (pin_name.startswith(TOOLS_PREFIX) and "_~_" in pin_name)


ADD = ToolOffer(
    name="add",
    description="Add two numbers.",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a"],
    },
    node_id="node-7",
    pins={"a": "a", "b": "b"},
)
CALL = ToolCallRequest(id="call_1", name="add", arguments='{"a": 2, "b": 3}')
STARTED = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": "What is 2 + 3?"}]
CALLED = [
    *STARTED,
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'}}
        ],
    },
]
ANSWERED = [*CALLED, {"role": "tool", "tool_call_id": "call_1", "content": '{"result":5}'}]
EXAMPLES = [
    Example(
        inputs={"prompt": "What is 2 + 3?"},
        outputs=[("tools_^_node-7_~_a", 2), ("tools_^_node-7_~_b", 3), ("conversations", CALLED)],
        note="one call: its arguments are sent to the tool's node",
        world=World(tools=[ADD], replies=[[CALL]]),
    ),
    Example(
        inputs={
            "prompt": "What is 2 + 3?",
            "conversation_history": CALLED,
            "last_tool_output": {"result": 5},
        },
        outputs=[("finished", "It is 5.")],
        note="the agent returns the result",
        world=World(tools=[ADD], replies=["It is 5."]),
    ),
    Example(
        inputs={"prompt": "What is 2 + 3?", "agent_mode_max_iterations": 5},
        outputs=[
            ("finished", "It is 5."),
            ("conversations", [*ANSWERED, {"role": "assistant", "content": "It is 5."}]),
        ],
        note="the block runs the tools itself",
        world=World(tools=[ADD], replies=[[CALL], "It is 5."], tool_results={"add": {"result": 5}}),
    ),
    Example(
        inputs={"prompt": "What is 2 + 3?", "agent_mode_max_iterations": 1},
        outputs=[("finished", "Stopped after 1 rounds without an answer."), ("conversations", ANSWERED)],
        world=World(tools=[ADD], replies=[[CALL]], tool_results={"add": {"result": 5}}),
    ),
    Example(
        inputs={"prompt": "What is 2 + 3?", "retry": 2},
        error="there is no tool 'subtract'; available are add",
        note="invalid calls are reported to the model, then fail",
        world=World(tools=[ADD], replies=[[ToolCallRequest(id="c", name="subtract", arguments="{}")]] * 2),
    ),
    Example(
        inputs={"prompt": "What is 2 + 3?", "retry": 1},
        error="add needs a",
        world=World(tools=[ADD], replies=[[ToolCallRequest(id="c", name="add", arguments="{}")]]),
    ),
    Example(inputs={}, error="needs the input 'prompt'"),
]


@block(
    id="3b191d9f-356f-482d-8238-ba04b6d18381",
    name="Orchestrator",
    category=Category.AI,
    outputs=Outputs,
    examples=EXAMPLES,
    type=BlockType.AI,
    effects=Effects.EFFECTFUL,
    reads_outside=False,
    leaves=Leaves.NOTHING,
    repeatable=repeatable_by_key,
    credentials=LLM,
    repeats=("tools_^_*", "conversations", "tool_calls"),
    runs_alone=False,
    dynamic_outputs=is_tool_pin,
    ignored_inputs=LEGACY_KEYS,
    loop_inputs=("conversation_history", "last_tool_output"),
)
def orchestrator(inputs: Inputs, context: BlockContext) -> Emissions:
    """Let a language model work towards a goal, with the blocks linked from `tools` as its functions."""
    model = OrchestratorModel(
        offers=context.ports.tools.offers(),
        model=inputs.model,
        max_tokens=inputs.max_tokens,
        retry=min(max(inputs.retry, 1), 10),
        many_calls=inputs.multiple_tool_calls,
        shorten=inputs.conversation_compaction,
        carries=AnswerCarries(context.ports.store),
    )
    messages = start_conversation(inputs)
    if pending_calls(messages):  # more results of parallel calls are still to come
        yield "conversations", messages
        return
    if inputs.agent_mode_max_iterations == 0:
        yield from emit_calls(model.run(messages, context))
    else:
        yield from run_rounds(model, messages, inputs.agent_mode_max_iterations, context)


def emit_calls(answer: OrchestratorRound) -> Emissions:
    """Emit the calls of one round; the agent runs the tools and calls the block again."""
    if not answer.calls:
        yield "finished", answer.text
        return
    for call in answer.calls:
        for pin_name, value in pins_of(call).items():
            yield f"{TOOLS_PREFIX}{call.offer.node_id}_~_{pin_name}", value
    yield "conversations", answer.messages


def run_rounds(model: OrchestratorModel, messages: Objects, rounds: int, context: BlockContext) -> Emissions:
    """Run rounds until the model is done; each tool call has its own key, so a second attempt runs it only once."""
    max_rounds = limits.MAX_ORCHESTRATOR_ROUNDS if rounds < 0 else min(rounds, limits.MAX_ORCHESTRATOR_ROUNDS)
    for number in range(max_rounds):
        context.report_progress(number / max_rounds, f"Round {number + 1}")
        answer = model.run(messages, context)
        messages = answer.messages
        if not answer.calls:
            yield "finished", answer.text
            yield "conversations", messages
            return
        for position, call in enumerate(answer.calls):
            context.check()
            messages = [*messages, run_call(call, f"{number}:{position}", context)]
    yield "finished", f"Stopped after {max_rounds} rounds without an answer."
    yield "conversations", messages


def start_conversation(inputs: Inputs) -> Objects:
    """Return the history with the last tool's output; a new conversation starts with the goal."""
    messages = usable_messages(inputs.conversation_history)
    if not messages:
        system = fill_prompt(inputs.sys_prompt, inputs.prompt_values)
        messages = [{"role": "system", "content": system}] if system else []
    goal = {"role": "user", "content": fill_prompt(inputs.prompt, inputs.prompt_values)}
    waiting = pending_calls(messages)
    if goal not in messages and not waiting:
        messages.append(goal)
    if inputs.last_tool_output is not None:
        text = as_text(inputs.last_tool_output)
        messages.append(
            tool_message(waiting[0], text)
            if waiting
            else {"role": "user", "content": f"The last tool returned:\n{text}"}
        )
    return messages
