"""Create List: build one list, or several of a limited size."""

from collections.abc import Iterator

from blocks.base import Category, Emissions, block
from blocks.coercion import as_text
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import AnyList, BlockInputs, BlockOutputs, Integer, pin
from llm.tokens import estimate_tokens


class Inputs(BlockInputs):
    values: AnyList = pin(description="The entries.")
    max_size: Integer | None = pin(None, description="Maximum number of entries per list.", advanced=True)
    max_tokens: Integer | None = pin(
        None, description="Approximate maximum number of tokens per list.", advanced=True
    )


class Outputs(BlockOutputs):
    list: AnyList


EXAMPLES = [
    Example(inputs={"values": [1, 2, 3]}, outputs=[("list", [1, 2, 3])]),
    Example(inputs={"values": [1, 2, 3], "max_size": 2}, outputs=[("list", [1, 2]), ("list", [3])]),
    Example(
        inputs={"values": ["a long first entry", "b", "c"], "max_tokens": 2},
        outputs=[("list", ["a long first entry"]), ("list", ["b", "c"])],
        note="an entry over the limit gets its own list",
    ),
    Example(inputs={"values": []}, outputs=[("list", [])]),
    Example(inputs={"values": [1], "max_size": 0}, error="`max_size` must be at least 1"),
]


@block(
    id="a912d5c7-6e00-4542-b2a9-8034136930e4",
    name="Create List",
    category=Category.DATA,
    outputs=Outputs,
    examples=EXAMPLES,
    repeats=("list",),
)
def create_list(inputs: Inputs, context: BlockContext) -> Emissions:
    """Build one list from the values, or several if a size or token limit is set."""
    for name, limit in (("max_size", inputs.max_size), ("max_tokens", inputs.max_tokens)):
        if limit is not None and limit < 1:
            raise BlockFailed(f"`{name}` must be at least 1.")
    for chunk in chunks(inputs):
        yield "list", chunk


def chunks(inputs: Inputs) -> Iterator[AnyList]:
    if inputs.max_size is None and inputs.max_tokens is None:
        yield inputs.values
        return
    chunk: AnyList = []
    tokens = 0
    for value in inputs.values:
        size = estimate_tokens(as_text(value)) if inputs.max_tokens is not None else 0
        full = inputs.max_size is not None and len(chunk) >= inputs.max_size
        heavy = inputs.max_tokens is not None and tokens + size > inputs.max_tokens
        if chunk and (full or heavy):
            yield chunk
            chunk, tokens = [], 0
        chunk.append(value)
        tokens += size
    if chunk or not inputs.values:
        yield chunk
