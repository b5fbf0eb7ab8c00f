"""AI Text Generator: let a model answer a prompt."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.examples import Example, World
from blocks.schema import (
    AnyList,
    BlockInputs,
    BlockOutputs,
    Credentials,
    Integer,
    ModelName,
    Text,
    TextMap,
    credentials_pin,
    pin,
)
from blocks.support.ai import ai_block, ask, fill_prompt, make_messages, model_pin, ollama_pin
from llm.errors import BadModelRequest, ModelUnavailable


class Inputs(BlockInputs):
    prompt: Text = pin(description="The prompt; {{ name }} is filled in from prompt_values.")
    model: ModelName = model_pin()
    credentials: Credentials = credentials_pin()
    sys_prompt: Text = pin("", description="System prompt.", advanced=True)
    retry: Integer = pin(3, description="Maximum number of attempts.", advanced=True)
    prompt_values: TextMap = pin(
        {}, description="Variables of the prompt; link each to prompt_values_#_<name>."
    )
    ollama_host: Text = ollama_pin()
    max_tokens: Integer | None = pin(None, description="Maximum length of the answer.", advanced=True)


class Outputs(BlockOutputs):
    response: Text
    prompt: AnyList


EXAMPLES = [
    Example(
        inputs={
            "prompt": "Say hello to {{ who }}.",
            "prompt_values": {"who": "Ada"},
            "sys_prompt": "Be kind.",
        },
        outputs=[
            ("response", "Hello, Ada!"),
            (
                "prompt",
                [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Say hello to Ada."}],
            ),
        ],
        world=World(replies=["Hello, Ada!"]),
    ),
    Example(
        inputs={"prompt": "Hi", "model": "gpt-4o", "api_key": "old"},
        outputs=[("response", "Hello!"), ("prompt", [{"role": "user", "content": "Hi"}])],
        note="transient failures are retried; the key of an old export is ignored",
        world=World(replies=[ModelUnavailable(), "Hello!"]),
    ),
    Example(
        inputs={"prompt": "Hi", "retry": 2},
        error="cannot be reached",
        world=World(replies=[ModelUnavailable(), ModelUnavailable()]),
    ),
    Example(
        inputs={"prompt": "Hi"},
        error="refused the request",
        note="a rejected request is not retried",
        world=World(replies=[BadModelRequest()]),
    ),
    Example(inputs={"prompt": "{{ x", "prompt_values": {"x": 1}}, error="template cannot be rendered"),
]


@ai_block(
    id="1f292d4a-41a4-4977-9684-7c8d560b9f91",
    name="AI Text Generator",
    outputs=Outputs,
    examples=EXAMPLES,
)
def ai_text_generator(inputs: Inputs, context: BlockContext) -> Emissions:
    """Ask a language model and return its answer."""
    messages = make_messages(
        fill_prompt(inputs.sys_prompt, inputs.prompt_values), fill_prompt(inputs.prompt, inputs.prompt_values)
    )
    answer = ask(messages, context, model=inputs.model, max_tokens=inputs.max_tokens, tries=inputs.retry)
    yield "response", answer.text
    yield "prompt", messages
