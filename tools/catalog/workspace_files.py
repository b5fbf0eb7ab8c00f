"""list_, read_, write_ and delete_workspace_file: the user's files."""

from __future__ import annotations

import base64
import binascii
import codecs
from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from tools import limits
from tools.base import Effect, Reads, ToolArgs, ToolResult, Verbatim, tool
from tools.context import ToolContext
from tools.errors import ModelRetry, NoResults, ToolError
from tools.preconditions import login_required
from workspace import files
from workspace.errors import FileMissing, PathTaken, WorkspaceError
from workspace.models import WorkspaceFile

SCHEME = "workspace://"


class FileInfo(BaseModel):
    file_id: str
    path: str
    reference: str
    media_type: str
    size: int

    @classmethod
    def of(cls, file: WorkspaceFile) -> FileInfo:
        return cls(
            file_id=str(file.id),
            path=file.path,
            reference=file.reference,
            media_type=file.media_type,
            size=file.size,
        )


class WhichFile(ToolArgs):
    file_id: str | None = Field(default=None, max_length=100, description="Id or workspace:// reference.")
    path: str | None = Field(default=None, max_length=1000)

    @model_validator(mode="after")
    def names_one(self) -> Self:
        if (self.file_id is None) == (self.path is None):
            raise ValueError("Give either file_id or path.")
        return self

    def find(self, context: ToolContext) -> WorkspaceFile:
        """Return the user's file; raises NoResults, also for a file of someone else."""
        file_id = self.file_id.removeprefix(SCHEME).partition("#")[0] if self.file_id else None
        try:
            return files.find(context.user, file_id=file_id, path=self.path)
        except FileMissing:
            named = self.file_id or self.path
            hint = ["List the files with list_workspace_files."]
            raise NoResults(f"There is no file {named!r} in the workspace.", suggestions=hint) from None


# --- list -------------------------------------------------------------------------------------------


class ListArgs(ToolArgs):
    prefix: str = Field(default="", max_length=1000, description="Only paths that start with this.")


class FileList(ToolResult):
    type: Literal["workspace_file_list"] = "workspace_file_list"
    files: list[FileInfo]
    more: bool


@tool(gates=[login_required], reads=Reads.PERHAPS, holds=False)
def list_workspace_files(args: ListArgs, context: ToolContext) -> FileList:
    """List the user's files by path."""
    page = files.list_files(context.user, args.prefix)
    context.read_outside(*(source for file in page.files for source in file.outside_sources))
    more = page.next is not None
    return FileList(
        message=f"{len(page.files)} files{', and there are more' if more else ''}.",
        next_step="Give a longer prefix to see the others." if more else "",
        files=[FileInfo.of(file) for file in page.files],
        more=more,
    )


# --- read -------------------------------------------------------------------------------------------


class ReadArgs(WhichFile):
    offset: int = Field(default=0, ge=0, description="In bytes.")
    length: int = Field(
        default=limits.READ_FILE_CHARACTERS, ge=1, le=limits.READ_FILE_CHARACTERS, description="In bytes."
    )


class FileContent(ToolResult):
    type: Literal["workspace_file_content"] = "workspace_file_content"
    file: FileInfo
    content: str
    offset: int
    next_offset: int | None


class FileMetadata(ToolResult):
    type: Literal["workspace_file_metadata"] = "workspace_file_metadata"
    file: FileInfo
    created_at: str


@tool(gates=[login_required], reads=Reads.PERHAPS, holds=False)
def read_workspace_file(args: ReadArgs, context: ToolContext) -> FileContent | FileMetadata:
    """Read a text file of the user, page by page: continue at next_offset. Of other files you get the metadata."""
    file = args.find(context)
    context.read_outside(*file.outside_sources)
    try:
        data = files.read_range(file, args.offset, args.length)
    except WorkspaceError as error:
        raise ToolError(error.message) from None
    text, used = decode_page(data, at_end=args.offset + len(data) >= file.size)
    if text is None:
        return FileMetadata(
            message=f"{file.path} is not text but {file.media_type}, {file.size:,} bytes.",
            next_step=f"Refer to it as {file.reference}.",
            file=FileInfo.of(file),
            created_at=file.created_at.isoformat(),
        )
    end = args.offset + used
    return FileContent(
        message=f"Bytes {args.offset} to {end} of {file.size}.",
        file=FileInfo.of(file),
        content=text,
        offset=args.offset,
        next_offset=end if end < file.size else None,
    )


def decode_page(data: bytes, *, at_end: bool) -> tuple[str | None, int]:
    """Return the text of a page, None if it is not text, and its bytes; a character cut in two is left for the next."""
    if b"\0" in data:
        return None, 0
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data, final=at_end)
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        return (text, len(data)) if text.count("\ufffd") <= len(text) // 10 else (None, 0)
    rest = len(decoder.getstate()[0])
    return text, len(data) - rest


# --- write ------------------------------------------------------------------------------------------


class WriteArgs(ToolArgs):
    filename: str = Field(min_length=1, max_length=1000, description="May contain folders: reports/may.csv")
    content: Verbatim | None = Field(default=None, max_length=limits.MAX_WRITTEN_FILE_CHARACTERS)
    content_base64: str | None = Field(
        default=None,
        max_length=limits.MAX_WRITTEN_FILE_CHARACTERS,
        description="For content that is not text.",
    )
    overwrite: bool = False

    @model_validator(mode="after")
    def has_one_content(self) -> Self:
        if (self.content is None) == (self.content_base64 is None):
            raise ValueError("Give either content or content_base64.")
        return self

    def data(self) -> bytes:
        if self.content is not None:
            return self.content.encode()
        try:
            return base64.b64decode("".join((self.content_base64 or "").split()), validate=True)
        except (binascii.Error, ValueError):
            raise ModelRetry("content_base64 is not valid base64.") from None


class FileWritten(ToolResult):
    type: Literal["workspace_file_written"] = "workspace_file_written"
    file: FileInfo


@tool(effect=Effect.IDEMPOTENT, gates=[login_required], reads=Reads.NOTHING, holds=False)
def write_workspace_file(args: WriteArgs, context: ToolContext) -> FileWritten:
    """Save a file for the user. Refer to it by its workspace:// reference."""
    try:
        file = files.save(
            context.user,
            args.filename,
            args.data(),
            session_id=context.session_id,
            overwrite=args.overwrite,
            key=context.key,
            outside_sources=context.outside_sources,
        )
    except PathTaken:
        raise ModelRetry(
            f"There is a file {args.filename!r} already.",
            next_step="Set overwrite, or choose another name.",
        ) from None
    except WorkspaceError as error:
        raise ToolError(error.message) from None
    return FileWritten(message=f"Saved as {file.path}.", file=FileInfo.of(file))


# --- delete -----------------------------------------------------------------------------------------


class FileDeleted(ToolResult):
    type: Literal["workspace_file_deleted"] = "workspace_file_deleted"
    file: FileInfo


@tool(gates=[login_required], reads=Reads.NOTHING, holds=True)
def delete_workspace_file(args: WhichFile, context: ToolContext) -> FileDeleted:
    """Delete a file of the user permanently. Only when they asked for it."""
    file = args.find(context)
    context.with_result(lambda: files.delete(file))
    return FileDeleted(message=f"Deleted {file.path}.", file=FileInfo.of(file))
