"""AI Text Summarizer: let a model summarise a text."""

from typing import Literal

from blocks import limits
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
    Objects,
    Text,
    Texts,
    credentials_pin,
    pin,
)
from blocks.support.ai import ai_block, ask, make_messages, model_pin, ollama_pin
from llm.tokens import estimate_tokens

MAX_ROUNDS = 5
TRIES = 3


class Inputs(BlockInputs):
    text: Text = pin(description="The text to summarise.")
    model: ModelName = model_pin(advanced=True)
    focus: Text = pin("general information", description="What to focus on.", advanced=True)
    style: Literal["concise", "detailed", "bullet points", "numbered list"] = pin(
        "concise", description="Style of the summary.", advanced=True
    )
    credentials: Credentials = credentials_pin()
    max_tokens: Integer = pin(
        4096, description="Maximum length of each part and of the summary.", advanced=True, ge=1
    )
    chunk_overlap: Integer = pin(100, description="Words shared by consecutive parts.", advanced=True, ge=0)
    ollama_host: Text = ollama_pin()


class Outputs(BlockOutputs):
    summary: Text
    prompt: AnyList


ASKED = (
    "Summarise the following text in a concise form. Focus on general information."
    "\n\n<text>\nA long story.\n</text>"
)
EXAMPLES = [
    Example(
        inputs={"text": "A long story."},
        outputs=[("summary", "A story."), ("prompt", [{"role": "user", "content": ASKED}])],
        world=World(replies=["A story."]),
    ),
    Example(
        inputs={"text": "one two three four", "max_tokens": 2, "chunk_overlap": 0},
        outputs=[
            ("summary", "Four."),
            (
                "prompt",
                [
                    {
                        "role": "user",
                        "content": ASKED.replace("A long story.", "First.\n\nLast."),
                    }
                ],
            ),
        ],
        note="the parts are summarised first",
        world=World(replies=["First.", "Last.", "Four."]),
    ),
    Example(inputs={"text": "  "}, error="`text` is empty"),
    Example(inputs={"text": "A story."}, error="empty summary", world=World(replies=[" "])),
    Example(inputs={"text": "x", "style": "rude"}, error="Use one of: concise, detailed"),
    Example(inputs={"text": "x" * 1_000_001}, error="longer than", documented=False),
]


@ai_block(
    id="a0a69be1-4528-491c-a85a-a4ab6873e3f0",
    name="AI Text Summarizer",
    outputs=Outputs,
    examples=EXAMPLES,
)
def ai_text_summarizer(inputs: Inputs, context: BlockContext) -> Emissions:
    """Summarise a text of any length: first its parts, then their summaries."""
    if not inputs.text.strip():
        raise BlockFailed("`text` is empty.")
    if len(inputs.text) > limits.MAX_SUMMARY_CHARACTERS:
        raise BlockFailed(
            f"The text is longer than {limits.MAX_SUMMARY_CHARACTERS} characters. Split it and summarise the parts."
        )
    text = inputs.text
    for _ in range(MAX_ROUNDS):
        parts = split_words(text, inputs.max_tokens, inputs.chunk_overlap)
        if len(parts) == 1:
            break
        summaries = []
        for number, part in enumerate(parts, start=1):
            context.report_progress(number / (len(parts) + 1), f"Part {number} of {len(parts)}")
            summaries.append(summarise(part, inputs, context)[0])
        text = "\n\n".join(summaries)
        if estimate_tokens(text) <= inputs.max_tokens or len(text.split()) <= inputs.max_tokens:
            break
    summary, messages = summarise(text, inputs, context)
    yield "summary", summary
    yield "prompt", messages


def summarise(text: str, inputs: Inputs, context: BlockContext) -> tuple[str, Objects]:
    style = {"bullet points": "as bullet points", "numbered list": "as a numbered list"}.get(
        inputs.style, f"in a {inputs.style} form"
    )
    prompt = f"Summarise the following text {style}. Focus on {inputs.focus}.\n\n<text>\n{text}\n</text>"
    messages = make_messages("", prompt)
    answer = ask(
        messages, context, model=inputs.model, max_tokens=inputs.max_tokens, tries=TRIES, shorten=True
    )
    if not answer.text.strip():
        raise BlockFailed("The model returned an empty summary.")
    return answer.text, messages


def split_words(text: str, size: int, overlap: int) -> Texts:
    """Split the text into overlapping parts of `size` words, but never into more parts than the limit."""
    words = text.split()
    if len(words) <= size:
        return [text]
    step = max(size - overlap, 1, -(-len(words) // limits.MAX_SUMMARY_CHUNKS))
    length = max(size, step)
    return [
        " ".join(words[start : start + length])
        for start in range(0, max(len(words) - length + step, 1), step)
    ]
