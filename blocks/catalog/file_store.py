"""File Store: store a file in the workspace."""

from blocks.base import Category, Effects, Emissions, block, repeatable_by_key
from blocks.context import BlockContext
from blocks.examples import Example, ExamplePage, World
from blocks.schema import BlockInputs, BlockOutputs, Boolean, FileRef, pin
from blocks.support.file_inputs import leaves_by_file, store_file

HELLO = "data:text/plain;base64,SGVsbG8="


class Inputs(BlockInputs):
    file_in: FileRef = pin(description="A URL, a data URI, a workspace reference or a path in the workspace.")
    base_64: Boolean = pin(False, description="Return the content as a data URI.", advanced=True)


class Outputs(BlockOutputs):
    file_out: FileRef


EXAMPLES = [
    Example(inputs={"file_in": "data:,Hello"}, outputs=[("file_out", HELLO)], note="inline in an agent"),
    Example(
        inputs={"file_in": "https://example.com/a.txt"},
        outputs=[("file_out", "workspace://file-1")],
        note="by reference from a chat",
        world=World(from_chat=True, pages={"https://example.com/a.txt": ExamplePage(body="Hello")}),
    ),
    Example(
        inputs={"file_in": "notes.txt"},
        outputs=[("file_out", "data:application/octet-stream;base64,SGVsbG8=")],
        note="a path in the workspace",
        world=World(files={"notes.txt": b"Hello"}),
    ),
    Example(inputs={"file_in": "https://example.com/gone"}, error="could not be found"),
    Example(
        inputs={"file_in": "https://example.com/gone"},
        error="The server returned status 404",
        world=World(pages={"https://example.com/gone": ExamplePage(status=404)}),
    ),
    Example(inputs={"file_in": "data:text/plain;base64,!!!"}, error="invalid base64"),
    Example(
        inputs={"file_in": "/etc/passwd"}, error="There is no file", note="only the workspace is accessible"
    ),
]


@block(
    id="cbb50872-625b-42f0-8203-a2ae78242d8a",
    name="File Store",
    category=Category.BASIC,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=leaves_by_file,
    repeatable=repeatable_by_key,
    static_output=True,
)
def file_store(inputs: Inputs, context: BlockContext) -> Emissions:
    """Download or decode a file, store it in the workspace and return a reference to it."""
    return store_file(inputs.file_in, "file_out", context, base_64=inputs.base_64)
