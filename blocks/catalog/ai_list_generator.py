"""AI List Generator: let a model write a list."""

from blocks.base import Emissions
from blocks.coercion import as_text
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.schema import (
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
from blocks.support.ai import ai_block, ask, find_json, make_messages, model_pin, ollama_pin


class Inputs(BlockInputs):
    focus: Text | None = pin(None, description="Topic of the list.")
    source_data: Text | None = pin(None, description="Text to extract the entries from.")
    model: ModelName = model_pin(advanced=True)
    credentials: Credentials = credentials_pin()
    max_retries: Integer = pin(3, description="Maximum number of attempts.", advanced=True, ge=1, le=5)
    force_json_output: Boolean = pin(False, description="Use the model's JSON mode.", advanced=True)
    max_tokens: Integer | None = pin(None, description="Maximum length of the answer.", advanced=True)
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
        error="did not return a list",
        world=World(replies=["red and blue", '{"a": 1, "b": 2}']),
    ),
    Example(inputs={"focus": "colours", "max_retries": 9}, error="less than or equal to 5"),
]


@ai_block(
    id="9c0b0450-d199-458b-a731-072189dd6593",
    name="AI List Generator",
    outputs=Outputs,
    examples=EXAMPLES,
    repeats=("list_item",),
)
def ai_list_generator(inputs: Inputs, context: BlockContext) -> Emissions:
    """Generate a list about a topic or from a text, and emit the list and each entry."""
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
    raise BlockFailed(f"The model did not return a list in {inputs.max_retries} attempts.")


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
    """Return the entries as text, or None if the answer is not a list."""
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
