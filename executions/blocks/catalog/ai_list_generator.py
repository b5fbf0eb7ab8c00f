"""AI List Generator: a list of texts made by a model."""

from __future__ import annotations

from executions.blocks.base import Category, Effects, Emissions, Leaves, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, World
from executions.blocks.families.ai import (
    LEGACY_KEYS,
    LLM,
    ask,
    find_json,
    make_messages,
    model_pin,
    ollama_pin,
)
from executions.blocks.families.texts import as_text
from executions.blocks.schema import (
    AnyList,
    BlockInputs,
    BlockOutputs,
    Boolean,
    Credentials,
    Integer,
    ModelName,
    Text,
    Texts,
    credentials_pin,
    pin,
)


class Inputs(BlockInputs):
    focus: Text | None = pin(None, description="What the list is about.")
    source_data: Text | None = pin(None, description="A text to take the entries from.")
    model: ModelName = model_pin(advanced=True)
    credentials: Credentials = credentials_pin()
    max_retries: Integer = pin(3, description="How often to try.", advanced=True, ge=1, le=5)
    force_json_output: Boolean = pin(False, description="Use the model's own JSON mode.", advanced=True)
    max_tokens: Integer | None = pin(None, description="How long the answer may be.", advanced=True)
    ollama_host: Text = ollama_pin()


class Outputs(BlockOutputs):
    generated_list: Texts
    list_item: Text
    prompt: AnyList


RULES = 'Answer with a JSON array of strings, such as ["one", "two"], and nothing else.'
ASKED = [{"role": "system", "content": RULES}, {"role": "user", "content": "Make a list about: colours"}]
EXAMPLES = [
    Example(
        inputs={"focus": "colours"},
        outputs=[
            ("generated_list", ["red", "blue"]),
            ("prompt", ASKED),
            ("list_item", "red"),
            ("list_item", "blue"),
        ],
        world=World(replies=['```json\n["red", "blue"]\n```']),
    ),
    Example(
        inputs={"focus": "colours", "force_json_output": True},
        outputs=[
            ("generated_list", ["1"]),
            (
                "prompt",
                [
                    {
                        "role": "system",
                        "content": 'Answer with a JSON object {"list": ["one", "two"]} and nothing else.',
                    },
                    ASKED[1],
                ],
            ),
            ("list_item", "1"),
        ],
        world=World(replies=['{"list": [1]}']),
    ),
    Example(
        inputs={"focus": "colours", "max_retries": 2},
        error="gave no list",
        world=World(replies=["red and blue", '{"a": 1, "b": 2}']),
    ),
    Example(inputs={"focus": "colours", "max_retries": 9}, error="less than or equal to 5"),
]


@block(
    id="9c0b0450-d199-458b-a731-072189dd6593",
    name="AI List Generator",
    category=Category.AI,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=False,
    leaves=Leaves.NOTHING,
    credentials=LLM,
    repeats=("list_item",),
    ignored_inputs=LEGACY_KEYS,
)
def ai_list_generator(inputs: Inputs, context: BlockContext) -> Emissions:
    """Makes a list about a subject, or out of a text; emits the list and each of its entries."""
    messages = make_messages(rules(inputs), ask_for(inputs))
    for tries_left in range(inputs.max_retries, 0, -1):
        answer = ask(
            messages,
            context,
            model=inputs.model,
            max_tokens=inputs.max_tokens,
            as_json=inputs.force_json_output,
            tries=tries_left,
            shorten=True,
        )
        entries = read_list(answer.text)
        if entries is not None:
            yield "generated_list", entries
            yield "prompt", messages
            for entry in entries:
                yield "list_item", entry
            return
    raise BlockFailed(f"The model gave no list in {inputs.max_retries} tries.")


def rules(inputs: Inputs) -> str:
    return (
        'Answer with a JSON object {"list": ["one", "two"]} and nothing else.'
        if inputs.force_json_output
        else RULES
    )


def ask_for(inputs: Inputs) -> str:
    if inputs.source_data:
        subject = f" about: {inputs.focus}" if inputs.focus else ""
        return f"Make a list{subject}, taking the entries from this text:\n\n{inputs.source_data}"
    return f"Make a list about: {inputs.focus or 'anything you like'}"


def read_list(text: str) -> Texts | None:
    """The entries as text, or None when the answer is no list."""
    start, end = text.find("["), text.rfind("]")
    for candidate in (text, text[start : end + 1]):
        try:
            parsed = find_json(candidate)
        except ValueError:
            continue
        if isinstance(parsed, dict) and len(parsed) == 1:
            parsed = next(iter(parsed.values()))
        if isinstance(parsed, list):
            return [as_text(entry) for entry in parsed]
    return None
