"""File Store: keep a file in the workspace."""

from __future__ import annotations

from executions.blocks.base import Category, Effects, Emissions, block, under_its_key
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example, Page, World
from executions.blocks.families.sources import keep_source, leaves_by_file
from executions.blocks.schema import BlockInputs, BlockOutputs, Boolean, FileRef, pin

HELLO = "data:text/plain;base64,SGVsbG8="


class Inputs(BlockInputs):
    file_in: FileRef = pin(description="A URL, a data URI, a workspace reference or a path in the workspace.")
    base_64: Boolean = pin(False, description="Emit the content itself as a data URI.", advanced=True)


class Outputs(BlockOutputs):
    file_out: FileRef


EXAMPLES = [
    Example(inputs={"file_in": "data:,Hello"}, outputs=[("file_out", HELLO)], note="inline in a graph"),
    Example(
        inputs={"file_in": "https://example.com/a.txt"},
        outputs=[("file_out", "workspace://file-1")],
        note="by reference from a chat",
        world=World(from_chat=True, pages={"https://example.com/a.txt": Page(body="Hello")}),
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
        error="The server answered 404",
        world=World(pages={"https://example.com/gone": Page(status=404)}),
    ),
    Example(inputs={"file_in": "data:text/plain;base64,!!!"}, error="base64 of this data URI is broken"),
    Example(
        inputs={"file_in": "/etc/passwd"}, error="There is no file", note="only the workspace can be reached"
    ),
]


@block(
    id="cbb50872-625b-42f0-8203-a2ae78242d8a",
    name="File Store",
    category=Category.BASIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=leaves_by_file,
    repeatable=under_its_key,
    static_output=True,
)
def file_store(inputs: Inputs, context: BlockContext) -> Emissions:
    """Downloads or decodes a file, keeps it in the workspace and emits how to reach it."""
    return keep_source(inputs.file_in, "file_out", context, base_64=inputs.base_64)
