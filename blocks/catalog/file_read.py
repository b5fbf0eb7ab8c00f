"""File Read: read a file as text."""

from blocks import limits
from blocks.base import Category, Effects, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, ExamplePage, World
from blocks.schema import BlockInputs, BlockOutputs, FileRef, Integer, Text, pin
from blocks.support.file_inputs import leaves_by_file, load_file


class Inputs(BlockInputs):
    file_input: FileRef = pin(
        description="A URL, a data URI, a workspace reference or a path in the workspace."
    )
    delimiter: Text = pin(
        "", description="Row separator; if empty, the whole text is one row.", advanced=True
    )
    size_limit: Integer = pin(
        0, description="Characters per piece; 0 means everything at once.", advanced=True
    )
    row_limit: Integer = pin(0, description="Maximum number of rows; 0 means all.", advanced=True)
    skip_size: Integer = pin(0, description="Characters to skip at the start.", advanced=True)
    skip_rows: Integer = pin(0, description="Rows to skip at the start.", advanced=True)


class Outputs(BlockOutputs):
    content: Text


LETTERS = World(files={"letters.txt": b"a\nb\nc\nd"})
EXAMPLES = [
    Example(inputs={"file_input": "data:,Hello"}, outputs=[("content", "Hello")]),
    Example(
        inputs={"file_input": "https://example.com/a.txt"},
        outputs=[("content", "from the web")],
        world=World(pages={"https://example.com/a.txt": ExamplePage(body="from the web")}),
    ),
    Example(
        inputs={"file_input": "letters.txt", "delimiter": "\n", "skip_rows": 1, "row_limit": 2},
        outputs=[("content", "b\nc")],
        world=LETTERS,
    ),
    Example(
        inputs={"file_input": "letters.txt", "size_limit": 4, "skip_size": 1},
        outputs=[("content", "\nb\nc"), ("content", "\nd")],
        note="in pieces",
        world=LETTERS,
    ),
    Example(
        inputs={"file_input": "letters.txt", "delimiter": "\n", "skip_rows": 9},
        outputs=[("content", "")],
        note="all rows skipped",
        world=LETTERS,
    ),
    Example(inputs={"file_input": "data:,"}, note="an empty file emits nothing"),
    Example(
        inputs={"file_input": "data:;base64,6Q=="},
        outputs=[("content", "é")],
        note="Latin-1 if it is not UTF-8",
    ),
    Example(inputs={"file_input": "gone.txt"}, error="There is no file"),
    Example(inputs={"file_input": "data:,x", "size_limit": -1}, error="`size_limit` must not be negative"),
    Example(
        inputs={"file_input": "data:," + "x" * 20_000, "size_limit": 1}, error="pieces", documented=False
    ),
]


@block(
    id="3735a31f-7e18-4aca-9e90-08a7120674bc",
    name="File Read",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=leaves_by_file,
    repeats=("content",),
)
def file_read(inputs: Inputs, context: BlockContext) -> Emissions:
    """Read a file as text and emit it whole or in pieces of limited size."""
    for name in ("size_limit", "row_limit", "skip_size", "skip_rows"):
        if getattr(inputs, name) < 0:
            raise BlockFailed(f"`{name}` must not be negative.")
    text = load_file(inputs.file_input, context).text
    if not text:
        return
    text = take_rows(text[inputs.skip_size :], inputs)
    size = inputs.size_limit or len(text) or 1
    if len(text) / size > limits.MAX_FILE_PIECES:
        raise BlockFailed(
            f"This would emit more than {limits.MAX_FILE_PIECES} pieces. Increase `size_limit`."
        )
    for start in range(0, max(len(text), 1), size):
        yield "content", text[start : start + size]


def take_rows(text: str, inputs: Inputs) -> str:
    rows = text.split(inputs.delimiter) if inputs.delimiter else [text]
    end = inputs.skip_rows + inputs.row_limit if inputs.row_limit else None
    return inputs.delimiter.join(rows[inputs.skip_rows : end])
