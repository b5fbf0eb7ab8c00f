"""AI Conversation: the next message of a conversation."""

from __future__ import annotations

from executions.blocks.base import Category, Effects, Emissions, Leaves, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, World
from executions.blocks.families.ai import LEGACY_KEYS, LLM, ask, make_messages, model_pin, ollama_pin
from executions.blocks.families.conversations import usable_messages
from executions.blocks.schema import (
    AnyList,
    BlockInputs,
    BlockOutputs,
    Credentials,
    Integer,
    ModelName,
    Text,
    credentials_pin,
    pin,
)

TRIES = 3


class Inputs(BlockInputs):
    prompt: Text = pin("", description="One more message of the user.")
    messages: AnyList = pin(description="The conversation: objects with role and content.")
    model: ModelName = model_pin(advanced=True)
    credentials: Credentials = credentials_pin()
    max_tokens: Integer | None = pin(None, description="How long the answer may be.", advanced=True)
    ollama_host: Text = ollama_pin()


class Outputs(BlockOutputs):
    response: Text
    prompt: AnyList


HELLO = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
EXAMPLES = [
    Example(
        inputs={"messages": HELLO, "prompt": "Who are you?"},
        outputs=[("response", "A model."), ("prompt", [*HELLO, {"role": "user", "content": "Who are you?"}])],
        world=World(replies=["A model."]),
    ),
    Example(
        inputs={"messages": [{"role": "wizard", "content": "x"}, 5], "prompt": "Hi"},
        outputs=[("response", "Hello!"), ("prompt", [{"role": "user", "content": "Hi"}])],
        note="what is no message is left out",
        world=World(replies=["Hello!"]),
    ),
    Example(inputs={"messages": []}, error="neither a usable message nor a prompt"),
]


@block(
    id="32a87eab-381e-4dd4-bdb8-4c47151be35a",
    name="AI Conversation",
    category=Category.AI,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=False,
    leaves=Leaves.NOTHING,
    credentials=LLM,
    ignored_inputs=LEGACY_KEYS,
)
def ai_conversation(inputs: Inputs, context: BlockContext) -> Emissions:
    """Continues a conversation with a language model."""
    messages = usable_messages(inputs.messages) + make_messages("", inputs.prompt)
    if not messages:
        raise BlockFailed(
            "There is neither a usable message nor a prompt. A message has `role` and `content`."
        )
    answer = ask(messages, context, model=inputs.model, max_tokens=inputs.max_tokens, tries=TRIES)
    yield "response", answer.text
    yield "prompt", messages
