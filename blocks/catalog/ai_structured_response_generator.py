"""AI Structured Response Generator: let a model return an object with given keys."""

from blocks.base import Emissions
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.schema import (
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
from blocks.support.ai import (
    MAX_TRIES,
    ai_block,
    ask,
    fill_prompt,
    find_json,
    make_messages,
    model_pin,
    ollama_pin,
    show_json,
    usable_messages,
)


class Inputs(BlockInputs):
    prompt: Text = pin(description="The prompt; {{ name }} is filled in from prompt_values.")
    expected_format: TextMap = pin(description="Keys of the answer with a description of each.")
    list_result: Boolean = pin(False, description="Return a list of such objects.", advanced=True)
    model: ModelName = model_pin()
    force_json_output: Boolean = pin(False, description="Use the model's JSON mode.", advanced=True)
    credentials: Credentials = credentials_pin()
    sys_prompt: Text = pin("", description="System prompt.", advanced=True)
    conversation_history: Objects | None = pin([], description="Earlier messages.", advanced=True)
    retry: Integer = pin(3, description="Maximum number of attempts.", advanced=True)
    prompt_values: TextMap = pin(
        {}, description="Variables of the prompt; link each to prompt_values_#_<name>."
    )
    max_tokens: Integer | None = pin(None, description="Maximum length of the answer.", advanced=True)
    compress_prompt_to_fit: Boolean = pin(
        True, description="Shorten a prompt that is too long.", advanced=True
    )
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
                    {
                        "role": "user",
                        "content": "Your answer is not valid: the key 'age' is missing. Please answer again.",
                    },
                ],
            ),
        ],
        note="errors are reported to the model",
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


@ai_block(
    id="ed55ac19-356e-4243-a6cb-bc599e9b716f",
    name="AI Structured Response Generator",
    outputs=Outputs,
    examples=EXAMPLES,
)
def ai_structured_response_generator(inputs: Inputs, context: BlockContext) -> Emissions:
    """Ask a language model for an object with given keys, and retry until the answer matches."""
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
                raise BlockFailed(f"The model's answer is not valid: {error}.") from None
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
    """Return the object or list of objects; raise ValueError with the problem."""
    if not inputs.expected_format:
        return {"response": text}
    try:
        parsed = find_json(text)
    except ValueError as error:
        raise ValueError(f"it contains no JSON ({error})") from None
    if not inputs.list_result:
        return check_keys(parsed, inputs)
    if isinstance(parsed, dict) and len(parsed) == 1:
        parsed = next(iter(parsed.values()))  # JSON mode returns only objects
    if not isinstance(parsed, list):
        raise ValueError("it is not a list")
    return [check_keys(item, inputs) for item in parsed]


def check_keys(parsed: JSON, inputs: Inputs) -> Object:
    if not isinstance(parsed, dict):
        raise ValueError("it is not an object")
    for key in inputs.expected_format:
        if key not in parsed:
            raise ValueError(f"the key {key!r} is missing")
    return parsed


def complaint(error: ValueError) -> Object:
    return {"role": "user", "content": f"Your answer is not valid: {error}. Please answer again."}
