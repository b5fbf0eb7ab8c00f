"""AI Structured Response Generator: let a model return an object with given keys."""

import re

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
from llm.carry import CARRY
from llm.types import Completion


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
        '  "age": "in years"\n}\nWrite nothing else.',
    },
    {"role": "user", "content": "Who?"},
]
GOOD = '<json_output>{"name": "Ada", "age": 36}</json_output>'
NESTED = re.compile(
    r"\b(objects?|dict(ionar(y|ies))?s?|maps?|mappings?|records?|json|nested|keys?)\b", re.IGNORECASE
)
SIMPLE: list[Object] = [{"type": kind} for kind in ("string", "number", "boolean", "null")]
VALUE: list[Object] = [*SIMPLE, {"type": "array", "items": {"anyOf": SIMPLE}}]
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
                        "content": "Your answer is not valid: the key 'age' is missing. Please answer again, inside "
                        "<json_output> and </json_output>.",
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
    schema = schema_for(inputs)
    for tries_left in range(min(max(inputs.retry, 1), MAX_TRIES) - 1, -1, -1):
        completion = ask(
            messages,
            context,
            model=inputs.model,
            max_tokens=inputs.max_tokens,
            as_json=inputs.force_json_output and bool(inputs.expected_format),
            schema=schema,
            tries=tries_left + 1,
            shorten=inputs.compress_prompt_to_fit,
        )
        try:
            response = read_answer(completion.text, inputs)
        except ValueError as error:
            if tries_left == 0:
                raise BlockFailed(f"The model's answer is not valid: {error}.") from None
            schema = None  # it did not help: the model hears what is wrong instead
            messages = [*messages, said(completion), complaint(error, inputs)]
            continue
        yield "response", response
        yield "prompt", [without_carry(message) for message in messages]
        return


def said(completion: Completion) -> Object:
    """Return an answer as the model wants it back."""
    carry = {CARRY: completion.carry} if completion.carry else {}
    return {"role": "assistant", "content": completion.text, **carry}


def without_carry(message: Object) -> Object:
    return {name: value for name, value in message.items() if name != CARRY}


def schema_for(inputs: Inputs) -> Object | None:
    """Return the JSON schema of the answer; None without keys, in JSON mode, and where a value may be an object.

    Model servers that keep strictly to a schema allow no object whose keys it does not name.
    """
    wanted = inputs.expected_format
    if not wanted or inputs.force_json_output or any(map(NESTED.search, wanted.values())):
        return None
    one: Object = {
        "type": "object",
        "properties": {key: {"description": text, "anyOf": VALUE} for key, text in wanted.items()},
        "required": list(wanted),
        "additionalProperties": False,
    }
    return listed(one) if inputs.list_result else one


def listed(one: Object) -> Object:
    """Return the schema of an object that holds a list: an answer is always an object."""
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": one}},
        "required": ["items"],
        "additionalProperties": False,
    }


def rules(inputs: Inputs) -> str:
    if not inputs.expected_format:
        return ""
    by_schema = inputs.force_json_output or schema_for(inputs) is not None
    what = "one JSON array of objects, each" if inputs.list_result else "one JSON object"
    if by_schema and inputs.list_result:
        what = 'one JSON object with the key "items", an array of objects, each'
    where = (
        "Write nothing else."
        if by_schema
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


def complaint(error: ValueError, inputs: Inputs) -> Object:
    where = "" if inputs.force_json_output else ", inside <json_output> and </json_output>"
    return {"role": "user", "content": f"Your answer is not valid: {error}. Please answer again{where}."}
