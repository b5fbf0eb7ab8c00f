"""bash_exec: run a command in the sandbox."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from boundary import limits as boundary_limits
from boundary import sandbox
from boundary.errors import SandboxError
from tools import limits
from tools.base import Effect, Reads, ToolArgs, ToolResult, tool
from tools.catalog.workspace_files import FileInfo, WhichFile
from tools.context import ToolContext
from tools.errors import ModelRetry, ToolError
from tools.preconditions import login_required
from workspace import files
from workspace.errors import WorkspaceError

FOLDER = "bash"


def clamp(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
        return min(limits.MAX_BASH_SECONDS, max(1.0, value))
    return value


Seconds = Annotated[float, Field(ge=1, le=limits.MAX_BASH_SECONDS), BeforeValidator(clamp)]
FileId = Annotated[str, Field(max_length=100)]


class Args(ToolArgs):
    command: str = Field(
        min_length=1,
        max_length=50_000,
        description="A bash script; python3 is available, the network is not.",
    )
    timeout: Seconds = Field(default=limits.BASH_SECONDS, description="In seconds.")
    files: list[FileId] = Field(
        default_factory=list,
        max_length=20,
        description="Ids of workspace files to copy into the working directory.",
    )


class BashResult(ToolResult):
    type: Literal["bash_exec"] = "bash_exec"
    exit_code: int
    stdout: str
    stderr: str
    timed_out: bool
    truncated: bool
    killed_reason: str | None
    files: list[FileInfo]
    files_left_out: list[str]


@tool(
    effect=Effect.IDEMPOTENT,
    gates=[login_required],
    available=sandbox.available,
    cap_seconds=limits.MAX_BASH_SECONDS + boundary_limits.SANDBOX_SLOT_WAIT_SECONDS + 10,
    reads=Reads.PERHAPS,
    holds=False,
)
def bash_exec(args: Args, context: ToolContext) -> BashResult:
    """Run a command in a sandbox without network. Each call starts in an empty directory; new files in it are saved to
    the user's workspace."""
    request = sandbox.SandboxRequest(
        command=args.command,
        files=chosen_files(args.files, context),
        timeout=args.timeout,
        owner=f"user-{context.user.pk}",
    )
    try:
        done = sandbox.run_in_workdir(request, cancelled=context.cancelled.is_set)
    except SandboxError as error:
        raise ToolError(str(error), code=error.code) from None
    context.stop_if_cancelled()
    kept, left_out = keep(done, context)
    return BashResult(
        message="The command ran into its time limit." if done.timed_out else f"Exit code {done.exit_code}.",
        exit_code=done.exit_code,
        stdout=done.stdout,
        stderr=done.stderr,
        timed_out=done.timed_out,
        truncated=done.truncated,
        killed_reason=done.killed_reason,
        files=kept,
        files_left_out=[*done.files_left_out, *left_out],
    )


def chosen_files(file_ids: list[str], context: ToolContext) -> dict[str, bytes]:
    """Return the user's files by name, for the working directory."""
    found = {file.id: file for file in (WhichFile(file_id=file_id).find(context) for file_id in file_ids)}
    context.read_outside(*(source for file in found.values() for source in file.outside_sources))
    if sum(file.size for file in found.values()) > boundary_limits.MAX_COLLECTED_BYTES:
        raise ModelRetry(
            f"The files are larger than {boundary_limits.MAX_COLLECTED_BYTES:,} bytes together. Give fewer."
        )
    try:
        return {file.name: files.read_range(file) for file in found.values()}
    except WorkspaceError as error:
        raise ToolError(error.message) from None


def keep(done: sandbox.SandboxResult, context: ToolContext) -> tuple[list[FileInfo], list[str]]:
    """Save the files that the command created, once per call and file; return also those that could not be saved."""
    kept: list[FileInfo] = []
    left_out: list[str] = []
    for number, file in enumerate(done.files):
        try:
            saved = files.save(
                context.user,
                f"{FOLDER}/{file.path}",
                file.content,
                session_id=context.session_id,
                number=True,
                key=f"{context.key}:{number}",
                outside_sources=context.outside_sources,
            )
        except WorkspaceError as error:
            left_out.append(f"{file.path}: {error.message}")
        else:
            kept.append(FileInfo.of(saved))
    return kept, left_out
