"""AI Conversation: continue a conversation with a model."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.schema import (
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
from blocks.support.ai import ai_block, ask, make_messages, model_pin, ollama_pin, usable_messages

TRIES = 3


class Inputs(BlockInputs):
    prompt: Text = pin("", description="A further user message.")
    messages: AnyList = pin(description="Messages so far, as objects with role and content.")
    model: ModelName = model_pin(advanced=True)
    credentials: Credentials = credentials_pin()
    max_tokens: Integer | None = pin(None, description="Maximum length of the answer.", advanced=True)
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
        note="invalid messages are ignored",
        world=World(replies=["Hello!"]),
    ),
    Example(inputs={"messages": []}, error="neither a valid message nor a prompt"),
]


@ai_block(
    id="32a87eab-381e-4dd4-bdb8-4c47151be35a",
    name="AI Conversation",
    outputs=Outputs,
    examples=EXAMPLES,
)
def ai_conversation(inputs: Inputs, context: BlockContext) -> Emissions:
    """Continue a conversation with a language model."""
    messages = usable_messages(inputs.messages) + make_messages("", inputs.prompt)
    if not messages:
        raise BlockFailed(
            "There is neither a valid message nor a prompt. A message needs `role` and `content`."
        )
    answer = ask(messages, context, model=inputs.model, max_tokens=inputs.max_tokens, tries=TRIES)
    yield "response", answer.text
    yield "prompt", messages
