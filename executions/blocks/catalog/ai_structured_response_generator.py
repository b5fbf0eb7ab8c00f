"""AI Structured Response Generator: a model's answer as an object with given keys."""

from __future__ import annotations

from executions.blocks.base import Category, Effects, Emissions, Leaves, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, World
from executions.blocks.families.ai import (
    LEGACY_KEYS,
    LLM,
    MAX_TRIES,
    ask,
    fill_prompt,
    find_json,
    make_messages,
    model_pin,
    ollama_pin,
    show_json,
)
from executions.blocks.families.conversations import usable_messages
from executions.blocks.schema import (
    JSON,
    AnyList,
    BlockInputs,
    BlockOutputs,
    Boolean,
    Credentials,
    Integer,
    ModelName,
    Object,
    Objects,
    Text,
    TextMap,
    credentials_pin,
    pin,
)


class Inputs(BlockInputs):
    prompt: Text = pin(description="What to ask; {{ name }} is filled from prompt_values.")
    expected_format: TextMap = pin(description="The keys of the answer, each with what belongs there.")
    list_result: Boolean = pin(False, description="A list of such objects.", advanced=True)
    model: ModelName = model_pin()
    force_json_output: Boolean = pin(False, description="Use the model's own JSON mode.", advanced=True)
    credentials: Credentials = credentials_pin()
    sys_prompt: Text = pin("", description="Who the model should be.", advanced=True)
    conversation_history: Objects | None = pin([], description="Messages that came before.", advanced=True)
    retry: Integer = pin(3, description="How often to try.", advanced=True)
    prompt_values: TextMap = pin({}, description="The variables; link each to prompt_values_#_<name>.")
    max_tokens: Integer | None = pin(None, description="How long the answer may be.", advanced=True)
    compress_prompt_to_fit: Boolean = pin(True, description="Cut a prompt that is too long.", advanced=True)
    ollama_host: Text = ollama_pin()


class Outputs(BlockOutputs):
    response: Object | Objects
    prompt: AnyList


WANTED = {"name": "the person's name", "age": "in years"}
ASKED = [
    {
        "role": "system",
        "content": 'Answer with one JSON object with exactly these keys:\n{\n  "name": "the person\'s name",\n'
        '  "age": "in years"\n}\nWrite it inside <json_output> and </json_output>, and nothing else.',
    },
    {"role": "user", "content": "Who?"},
]
GOOD = '<json_output>{"name": "Ada", "age": 36}</json_output>'
EXAMPLES = [
    Example(
        inputs={"prompt": "Who?", "expected_format": WANTED},
        outputs=[("response", {"name": "Ada", "age": 36}), ("prompt", ASKED)],
        world=World(replies=[GOOD]),
    ),
    Example(
        inputs={"prompt": "Who?", "expected_format": WANTED},
        outputs=[
            ("response", {"name": "Ada", "age": 36}),
            (
                "prompt",
                [
                    *ASKED,
                    {"role": "assistant", "content": '{"name": "Ada"}'},
                    {"role": "user", "content": "That does not fit: the key 'age' is missing. Answer again."},
                ],
            ),
        ],
        note="what was wrong is told to the model",
        world=World(replies=['{"name": "Ada"}', GOOD]),
    ),
    Example(
        inputs={"prompt": "Who?", "expected_format": {}},
        outputs=[("response", {"response": "Ada"}), ("prompt", [{"role": "user", "content": "Who?"}])],
        note="without keys the answer is text",
        world=World(replies=["Ada"]),
    ),
    Example(
        inputs={"prompt": "Who?", "expected_format": WANTED, "retry": 2},
        error="no JSON",
        world=World(replies=["I would rather not.", "No."]),
    ),
    Example(inputs={"expected_format": WANTED}, error="needs the input 'prompt'"),
]


@block(
    id="ed55ac19-356e-4243-a6cb-bc599e9b716f",
    name="AI Structured Response Generator",
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
def ai_structured_response_generator(inputs: Inputs, context: BlockContext) -> Emissions:
    """Asks a language model for an object with given keys, and asks again until it fits."""
    system = "\n\n".join(
        part for part in (fill_prompt(inputs.sys_prompt, inputs.prompt_values), rules(inputs)) if part
    )
    prompt = fill_prompt(inputs.prompt, inputs.prompt_values)
    history = usable_messages(inputs.conversation_history)
    messages = make_messages(system, "") + history + make_messages("", prompt)
    for tries_left in range(min(max(inputs.retry, 1), MAX_TRIES) - 1, -1, -1):
        answer = ask(
            messages,
            context,
            model=inputs.model,
            max_tokens=inputs.max_tokens,
            as_json=inputs.force_json_output and bool(inputs.expected_format),
            tries=tries_left + 1,
            shorten=inputs.compress_prompt_to_fit,
        ).text
        try:
            response = read_answer(answer, inputs)
        except ValueError as error:
            if tries_left == 0:
                raise BlockFailed(f"The model's answer does not fit: {error}.") from None
            messages = [*messages, {"role": "assistant", "content": answer}, complaint(error)]
            continue
        yield "response", response
        yield "prompt", messages
        return


def rules(inputs: Inputs) -> str:
    if not inputs.expected_format:
        return ""
    what = "one JSON array of objects, each" if inputs.list_result else "one JSON object"
    if inputs.force_json_output and inputs.list_result:
        what = 'one JSON object with the key "items", an array of objects, each'
    where = (
        "Write nothing else."
        if inputs.force_json_output
        else "Write it inside <json_output> and </json_output>, and nothing else."
    )
    return f"Answer with {what} with exactly these keys:\n{show_json(inputs.expected_format)}\n{where}"


def read_answer(text: str, inputs: Inputs) -> Object | Objects:
    """The object, or the list of them; raises ValueError with what is wrong."""
    if not inputs.expected_format:
        return {"response": text}
    try:
        parsed = find_json(text)
    except ValueError as error:
        raise ValueError(f"there is no JSON in it ({error})") from None
    if not inputs.list_result:
        return check_keys(parsed, inputs)
    if isinstance(parsed, dict) and len(parsed) == 1:
        parsed = next(iter(parsed.values()))  # JSON mode knows objects only
    if not isinstance(parsed, list):
        raise ValueError("it is no list")
    return [check_keys(item, inputs) for item in parsed]


def check_keys(parsed: JSON, inputs: Inputs) -> Object:
    if not isinstance(parsed, dict):
        raise ValueError("it is no object")
    for key in inputs.expected_format:
        if key not in parsed:
            raise ValueError(f"the key {key!r} is missing")
    return parsed


def complaint(error: ValueError) -> Object:
    return {"role": "user", "content": f"That does not fit: {error}. Answer again."}
